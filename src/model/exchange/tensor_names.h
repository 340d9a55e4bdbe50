/* model/exchange/tensor_names.h: what follows a matrix's name in the names of tensors and in __metadata__. */
#ifndef FW_MODEL_EXCHANGE_TENSOR_NAMES_H
#define FW_MODEL_EXCHANGE_TENSOR_NAMES_H

/* A dense matrix is one tensor with its name. A sparse one is three. */
#define FW_TENSOR_INDICES ".indices"
#define FW_TENSOR_BEGINS ".indptr"
#define FW_TENSOR_DATA ".data"
#define FW_TENSOR_IDS ".ids" /* of the vectors, where they are not 0, 1, 2 … */

/* In __metadata__, all as text. */
#define FW_TENSOR_MATRIX_ID ".matrix_id"
#define FW_TENSOR_ROW_TYPE ".row_type"
#define FW_TENSOR_FORMAT ".format"
#define FW_TENSOR_VECTORS ".vectors" /* rows, columns */
#define FW_TENSOR_ROWS ".rows"       /* of the matrix, saved or not */
#define FW_TENSOR_FIRST_COL ".first_col"
#define FW_TENSOR_END_COL ".end_col"
#define FW_TENSOR_SAVED_ROWS ".saved_rows" /* columns: the rows that their elements are of, unless 0, 1, 2 … */

#endif

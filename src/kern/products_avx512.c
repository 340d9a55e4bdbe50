/* kern/products_avx512.c: inner products. */
#include "kern/products.h"

void fw_products_fill_avx512(fw_products *products) {
  (void)products;
}

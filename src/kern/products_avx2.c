/* kern/products_avx2.c: inner products. */
#include "kern/products.h"

void fw_products_fill_avx2(fw_products *products) {
  (void)products;
}

/* kern/products_neon.c: inner products. */
#include "kern/products.h"

void fw_products_fill_neon(fw_products *products) {
  (void)products;
}

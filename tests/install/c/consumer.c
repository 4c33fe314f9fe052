/* A program of a user of the C API. */
#include <stdio.h>

int main(void) {
  puts("the C interface arrives with products");
  return 0;
}

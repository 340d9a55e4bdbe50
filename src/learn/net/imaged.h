/* learn/net/imaged.h: what a training makes, as bytes and back: a net, or a forest. For checkpoints and the best epoch.
 */
#ifndef FW_LEARN_NET_IMAGED_H
#define FW_LEARN_NET_IMAGED_H

#include "learn/conf/conf.h"
#include "learn/net/image.h"

typedef struct fw_imaged {
  const fw_plan *plan;
  size_t element; /* bytes of a number */
  void *thing;
  furrow_status (*write)(const void *thing, fw_image_sink sink, void *to, furrow_error *err);
  /* Fills a new thing of the same plan; E_FORMAT: the bytes are no image of such a thing. */
  furrow_status (*read)(void *thing, const unsigned char *bytes, size_t size, furrow_error *err);
  /* Whether that would succeed; the thing stays as it is. */
  furrow_status (*check)(void *thing, const unsigned char *bytes, size_t size, furrow_error *err);
} fw_imaged;

#endif

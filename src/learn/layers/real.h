/* learn/layers/real.h: the type that a net computes with.
 *
 * Every source of this folder is compiled twice, with FW_REAL_BITS 32 and 64. A name that crosses files is written
 * REAL_NAME(fw_thing) and becomes fw_thing_f32 or fw_thing_f64. */
#ifndef FW_LEARN_LAYERS_REAL_H
#define FW_LEARN_LAYERS_REAL_H

#ifndef FW_REAL_BITS
#define FW_REAL_BITS 32 /* for tools that look at one file */
#endif

#if FW_REAL_BITS == 64
typedef double real;
#define REAL_NAME(name) name##_f64
#else
typedef float real;
#define REAL_NAME(name) name##_f32
#endif

#endif

/* array/convert_tmpl.h: conversions to one type from all others.
 *   TARGET       the type
 *   TARGET_KIND  TO_F64, TO_F32, TO_I64, TO_I32
 *   NAME(from)   names of the functions */

#define SOURCE double
#define SOURCE_KIND FROM_REAL
#define FUNCTION NAME(f64)
#include "array/convert_one_tmpl.h"
#define SOURCE float
#define SOURCE_KIND FROM_REAL
#define FUNCTION NAME(f32)
#include "array/convert_one_tmpl.h"
#define SOURCE int64_t
#define SOURCE_KIND FROM_SIGNED
#define FUNCTION NAME(i64)
#include "array/convert_one_tmpl.h"
#define SOURCE int32_t
#define SOURCE_KIND FROM_SIGNED
#define FUNCTION NAME(i32)
#include "array/convert_one_tmpl.h"
#define SOURCE int16_t
#define SOURCE_KIND FROM_SIGNED
#define FUNCTION NAME(i16)
#include "array/convert_one_tmpl.h"
#define SOURCE int8_t
#define SOURCE_KIND FROM_SIGNED
#define FUNCTION NAME(i8)
#include "array/convert_one_tmpl.h"
#define SOURCE uint64_t
#define SOURCE_KIND FROM_UNSIGNED
#define FUNCTION NAME(u64)
#include "array/convert_one_tmpl.h"
#define SOURCE uint32_t
#define SOURCE_KIND FROM_UNSIGNED
#define FUNCTION NAME(u32)
#include "array/convert_one_tmpl.h"
#define SOURCE uint16_t
#define SOURCE_KIND FROM_UNSIGNED
#define FUNCTION NAME(u16)
#include "array/convert_one_tmpl.h"
#define SOURCE uint8_t
#define SOURCE_KIND FROM_UNSIGNED
#define FUNCTION NAME(u8)
#include "array/convert_one_tmpl.h"
#define SOURCE uint16_t
#define SOURCE_KIND FROM_HALF
#define FUNCTION NAME(f16)
#include "array/convert_one_tmpl.h"

#undef TARGET
#undef TARGET_KIND
#undef NAME

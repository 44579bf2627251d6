/* kernstash.h: one cache for everything that a GPU runtime compiles at run time. */
#ifndef KERNSTASH_H
#define KERNSTASH_H

#define KERNSTASH_VERSION_TEXT "0.1.0"

#if defined(__GNUC__)
#define KERNSTASH_API __attribute__((visibility("default")))
#else
#define KERNSTASH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is loaded, "0.1.0". It lives for ever. */
KERNSTASH_API const char *kernstash_version(void);

#ifdef __cplusplus
}
#endif
#endif

/* io/remote/s3_credentials.h: who asks for objects, as AWS's own tools find it out. */
#ifndef FW_IO_S3_CREDENTIALS_H
#define FW_IO_S3_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>

#include "furrow/status.h"

/* Empty texts: unknown. Without an access key, requests are not signed. */
typedef struct fw_s3_settings {
  char access_key[256], secret_key[256], token[4096];
  char region[64];
  char endpoint[512]; /* http://host:port, without a slash at its end */
} fw_s3_settings;

/* From the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_DEFAULT_REGION,
 * AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL), then for the token AWS_WEB_IDENTITY_TOKEN_FILE, then from the profile
 * AWS_PROFILE of ~/.aws/credentials and ~/.aws/config, then from the role of the container or the machine.
 * E_ARGUMENT: a profile that was asked for is not there, or a setting is not valid; E_FORMAT: a value of a file is too
 * long; E_UNSUPPORTED: the profile's credentials come from a program or another role; and the errors of
 * fw_s3_role_find. */
furrow_status fw_s3_settings_find(fw_s3_settings *settings, furrow_error *err) FURROW_MUST_USE;

/* Reads the section of a profile of one file into the settings that are still empty; *found: it has the section.
 * E_FORMAT: a value is too long. */
furrow_status fw_s3_settings_parse(fw_s3_settings *settings, const char *text, size_t size, const char *section,
                                   bool *found, bool *needs_program, furrow_error *err) FURROW_MUST_USE;

#endif

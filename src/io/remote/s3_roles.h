/* io/remote/s3_roles.h: credentials for a while that a service gives to a role. */
#ifndef FW_IO_S3_ROLES_H
#define FW_IO_S3_ROLES_H

#include "base/buffer.h"
#include "io/remote/s3_credentials.h"

/* Where the credentials of a role come from. */
typedef enum fw_s3_role {
  FW_S3_ROLE_WEB,       /* AWS_ROLE_ARN with the token of AWS_WEB_IDENTITY_TOKEN_FILE, from the service STS */
  FW_S3_ROLE_CONTAINER, /* AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or AWS_CONTAINER_CREDENTIALS_FULL_URI */
  FW_S3_ROLE_INSTANCE   /* the metadata service of the machine (IMDS) */
} fw_s3_role;

/* Sets the keys and the token, if this process has such a role; otherwise they stay empty. The credentials are kept,
 * and are asked for again some time before they expire. The settings' region and endpoint are used to ask. Only the
 * machine may have no role without a failure. E_IO, E_FORMAT, E_ARGUMENT, E_UNSUPPORTED: the service did not give them.
 * No message has any part of them. Threads: any. */
furrow_status fw_s3_role_find(fw_s3_role role, fw_s3_settings *settings, furrow_error *err) FURROW_MUST_USE;

/* Reads the answer of a container's or a machine's service. *expires: seconds since 1970; 0: never. E_FORMAT. */
furrow_status fw_s3_role_parse(fw_s3_settings *settings, const char *json, size_t size, int64_t *expires,
                               furrow_error *err) FURROW_MUST_USE;

#endif

/*
 * ApiVersions, and what becomes of a request in a version we do not serve.
 */
#pragma once

struct api_request;

/* ApiVersions: error 35 in the layout of version 0, whatever the version asked. Others: the
 * connection closes. Ends r. */
void api_versions_refuse(struct api_request *r);
/* The handler. */
void api_versions_handle(struct api_request *r, const void *body);

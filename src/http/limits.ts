/** Most bytes of a request body that are read; more is 413. */
export const BODY_BYTES_MAX = 256 * 1024
/** Deepest nesting of a JSON body. */
export const BODY_DEPTH_MAX = 16
/** Longest request target, path and query together. */
export const TARGET_LENGTH_MAX = 8 * 1024
/** Most query parameters of one request. */
export const QUERY_PARAMETERS_MAX = 32
/** Longest value of a path or query parameter, in characters. */
export const PARAMETER_LENGTH_MAX = 256
/** Most characters of a value that an error message shows. */
export const SHOWN_VALUE_LENGTH_MAX = 64
/** Most characters of an unknown path that are logged. */
export const LOGGED_PATH_LENGTH_MAX = 200
/** Highest page that may be asked for. */
export const PAGE_MAX = 1_000_000_000
/** Largest and usual page size. */
export const PAGE_LIMIT_MAX = 25
export const PAGE_LIMIT_DEFAULT = 10
/** Longest idempotency key. */
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255
/** Longest bearer token that is looked up. */
export const KEY_LENGTH_MAX = 256
/** How long the body of a request may take to arrive. */
export const BODY_TIMEOUT_MS = 5_000
/** How long the work of one request may take before its reads are aborted; then 503. */
export const REQUEST_BUDGET_MS = 5_000
/** Reads of one organization under way at the same time; more is 503 at once, so that others keep their share. */
export const ORGANIZATION_CONCURRENCY_MAX = 256
/** Requests of one caller to a plane without keys under way at the same time; more is 503. */
export const PLANE_CALLER_CONCURRENCY_MAX = 64
/** Requests to such a plane whose sender is not known yet, under way at the same time; more is 503. */
export const PLANE_UNAUTHENTICATED_MAX = 64
/** Requests in the process at the same time; more is 503 at once. */
export const IN_FLIGHT_MAX = 4_096

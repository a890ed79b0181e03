/** Most bytes of a request body; more is 413. */
export const BODY_BYTES_MAX = 256 * 1024
/** Deepest nesting of a JSON body. */
export const BODY_DEPTH_MAX = 16
/** Longest request target, path and query together. */
export const TARGET_LENGTH_MAX = 8 * 1024
/** Most query parameters of one request. */
export const QUERY_PARAMETERS_MAX = 32
/** Longest value of a path or query parameter, in characters. */
export const PARAMETER_LENGTH_MAX = 256
/** Most characters of a value in an error message. */
export const SHOWN_VALUE_LENGTH_MAX = 64
/** Most characters of an unknown path in the log. */
export const LOGGED_PATH_LENGTH_MAX = 200
/** Highest page number. */
export const PAGE_MAX = 1_000_000_000
/** Largest and default page size. */
export const PAGE_LIMIT_MAX = 25
export const PAGE_LIMIT_DEFAULT = 10
/** Rows of a table without a page that are read, charged and sent at once: so many whole pages of the largest size. */
export const TABLE_PIECE_ROWS = 40 * PAGE_LIMIT_MAX
/** Most rows of such a table. */
export const TABLE_ROWS_MAX = 100 * TABLE_PIECE_ROWS
/** Longest time in which pieces of a table are begun, however slowly its reader takes them. */
export const TABLE_MS_MAX = 30 * 60_000
/** Longest idempotency key. */
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255
/** Longest bearer token. */
export const KEY_LENGTH_MAX = 256
/** Longest time for the body of a request to arrive. */
export const BODY_TIMEOUT_MS = 5_000
/** Longest time of one request's work; then its reads are aborted, and the answer is 503. */
export const REQUEST_BUDGET_MS = 5_000
/** Concurrent reads of one organization; more is 503 at once, so that other organizations are not blocked. */
export const ORGANIZATION_CONCURRENCY_MAX = 256
/** Concurrent requests of one caller to a plane; more is 503. */
export const PLANE_CALLER_CONCURRENCY_MAX = 64
/** Concurrent requests of the process; more is 503 at once. */
export const IN_FLIGHT_MAX = 4_096

/** Path of the operator's plane, relative to the page. */
export const BASE = 'admin/v1'

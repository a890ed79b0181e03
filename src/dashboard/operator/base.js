/** Where the operator's plane answers, relative to the page. */
export const BASE = 'admin/v1'

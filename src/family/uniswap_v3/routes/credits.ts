/** Credits of one position: full, active, closed. */
export const CREDITS_FULL = 15
export const CREDITS_ACTIVE = 2
export const CREDITS_INACTIVE = 1
/** Credits of its profit and loss, with `status=inactive`, and of its flows. */
export const CREDITS_PNL = 8
export const CREDITS_PNL_INACTIVE = 4
export const CREDITS_EVENTS = 1

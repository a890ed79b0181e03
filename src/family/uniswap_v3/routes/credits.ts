/** Credits of one position: full, active, closed. */
export const CREDITS_FULL = 15
export const CREDITS_ACTIVE = 2
export const CREDITS_INACTIVE = 1

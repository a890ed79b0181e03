/** Why any wallet may liquidate a position. The families' rules say which of them a family knows. */
export const LIQUIDATION_REASONS = [
  'health_factor',
  'deleveraging',
  'market_deleveraging',
  'debt_matured',
  'term_ended',
  'obligation_order',
] as const

export type LiquidationReason = (typeof LIQUIDATION_REASONS)[number]

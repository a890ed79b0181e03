/** Types of answers for the pages, from the OpenAPI documents. */
import type { Answers } from '../answers.d.ts'

export type PositionList = Answers['GET /v1/positions/uniswap-v3']
type V4Pool = Answers['GET /v1/positions/uniswap-v4']['data'][number]['position_state']['pool']
export type Hooks = NonNullable<V4Pool['hooks']>
/** Positions of Orca have no past; those of Uniswap V4 have hooks, which may change withdrawals. */
export type Position = PositionList['data'][number] & {
  withdrawable?: Answers['GET /v1/positions/uniswap-v4']['data'][number]['withdrawable']
  withdrawable_error?: Answers['GET /v1/positions/uniswap-v4']['data'][number]['withdrawable_error']
  position_state: { pool: Partial<Pick<V4Pool, 'hooks' | 'isDynamicFee'>> }
  rewards?: readonly Pick<
    NonNullable<Answers['GET /v1/positions/orca-whirlpool']['data'][number]['rewards']>[number],
    'token' | 'amount' | 'usd'
  >[]
}
/** Position of an answer with `full=true`. */
export type FullPosition = Required<Position>
export type PositionCounts = PositionList['counts']
export type ProfitAndLoss = Answers['GET /v1/positions/uniswap-v3/{id}/pnl']['data']

export type LiquidityEvents = Answers['GET /v1/positions/uniswap-v3/{id}/events']
export type LiquidityEvent = LiquidityEvents['data'][number]

export type AaveList = Answers['GET /v1/lending/aave-v3']
/** The fields about limits exist with `full=true` only. */
export type AavePosition = AaveList['data'][number]['positions'][number]
/** Fields that positions of Kamino have too. */
export type LendingPosition = Omit<AavePosition, 'marketId'>
export type LendingFigures = AaveList['data'][number]['calculations'][number]
export type LendingEvents = Answers['GET /v1/lending/aave-v3/position/{chain_id}/events']
export type LendingEvent = LendingEvents['data'][number]
export type Snapshots = Answers['GET /v1/lending/aave-v3/position/{chain_id}/snapshots']
export type Snapshot = Snapshots['data'][number]
export type MorphoList = Answers['GET /v1/lending/morpho-blue']
export type MorphoPosition = MorphoList['data'][number]['positions'][number]
export type KaminoList = Answers['GET /v1/lending/kamino']
export type KaminoYield = Answers['GET /v1/lending/kamino/position/{obligation_address}/yield']['data']
export type KaminoRisk = Answers['GET /v1/lending/kamino/position/{obligation_address}/risk']['data']

export type EnsName = Answers['GET /v1/names']
export type PortfolioBalance = Answers['GET /v1/portfolio/balance']
export type PortfolioExit = Answers['GET /v1/portfolio/exit']
export type PortfolioSnapshots = Answers['GET /v1/portfolio/snapshots']
export type PortfolioRow = Answers['GET /v1/portfolio/assets']['data'][number]

export type Organization = Answers['GET /dashboard/v1/organization']['data']
export type Usage = Answers['GET /dashboard/v1/usage']['data']
export type Latency = Answers['GET /dashboard/v1/latency']['data'][number]
export type LoggedRequest = Answers['GET /dashboard/v1/logs']['data'][number]
export type Key = Answers['GET /dashboard/v1/keys']['data'][number]
export type NewKey = Answers['POST /dashboard/v1/keys']['data']

export type TriggerList = Answers['GET /v1/triggers']
export type Trigger = TriggerList['data'][number]
export type WebhookList = Answers['GET /v1/webhooks']
export type NewWebhook = Answers['POST /v1/webhooks']['data']
export type Delivery = Answers['GET /v1/triggers/{id}/deliveries']['data'][number]
export type DeadLetter = Answers['GET /dashboard/v1/dead-letters']['data'][number]
export type Webhook = WebhookList['data'][number]

export type OrganizationRow = Answers['GET /admin/v1/organizations']['data'][number]
export type Grant = Answers['GET /admin/v1/organizations/{organization_id}/grants']['data'][number]
export type LoginLink = Answers['POST /admin/v1/login-links']['data']
export type Change = Answers['GET /admin/v1/audit']['data'][number]
export type Switch = Answers['GET /admin/v1/settings']['data']['switches'][number]
export type Chain = Answers['GET /admin/v1/chains']['data'][number]
export type TriggerReport = Answers['GET /admin/v1/triggers']['data']
export type History = Answers['GET /admin/v1/history']['data'][number]

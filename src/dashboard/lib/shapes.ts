/** Types of what the pages show of answers, from the typed clients; they are named as the OpenAPI documents name them. */
import type { paths as OperatorPaths } from '../../../dist/client/operator.ts'
import type { paths as OrganizationPaths } from '../../../dist/client/organization.ts'
import type { components, paths } from '../../../dist/client/service.ts'

type Schemas = components['schemas']

interface Json<Body> {
  readonly content: { readonly 'application/json': Body }
}

/** Body of an operation's success, which is 201 where something was created. */
type Success<Operation> = Operation extends { responses: { 200: Json<infer Body> } }
  ? Body
  : Operation extends { responses: { 201: Json<infer Body> } }
    ? Body
    : never

type V4Position = Schemas['ListedUniswapV4Position']
type V4Pool = V4Position['position_state']['pool']
type SlipstreamPool = Schemas['ListedSlipstreamPosition']['position_state']['pool']
type V3Position = Schemas['ListedUniswapV3Position']
type V3State = V3Position['position_state']
export type Hooks = NonNullable<V4Pool['hooks']>
/**
 * Positions of Orca have no past; those of Uniswap V4 have hooks, which may change withdrawals; pools of Slipstream may tell no
 * fee.
 */
export type Position = Omit<V3Position, 'position_state'> & {
  /** Of Orca. */
  position_address?: Schemas['ListedOrcaPosition']['position_address']
  withdrawable?: V4Position['withdrawable']
  withdrawable_error?: V4Position['withdrawable_error']
  position_state: Omit<V3State, 'pool'> & {
    pool: Omit<V3State['pool'], 'feeTier'> &
      Pick<SlipstreamPool, 'feeTier'> &
      Partial<Pick<V4Pool, 'hooks' | 'isDynamicFee' | 'tickSpacing'>>
  }
  rewards?: readonly Pick<
    NonNullable<Schemas['ListedOrcaPosition']['rewards']>[number],
    'token' | 'amount' | 'usd' | 'apr'
  >[]
}
/** Position of an answer with `full=true`. */
export type FullPosition = Required<Position>
export type PositionList = Omit<Success<paths['/v1/positions/uniswap-v3']['get']>, 'data'> & {
  readonly data: readonly Position[]
}
export type PositionCounts = Schemas['PositionCounts']
export type ProfitAndLoss = Schemas['ProfitAndLoss']
export type PositionEvents = Success<paths['/v1/positions/uniswap-v3/{id}/events']['get']>
export type PositionEvent = Schemas['PositionEvent']

export type AaveList = Success<paths['/v1/lending/aave-v3']['get']>
/** The fields about limits exist with `full=true` only. */
export type AaveV3Position = Schemas['AaveV3Position']
export type AaveV3Calculations = Schemas['AaveV3Calculations']
/** Fields that positions of Kamino have too. */
export type LendingPosition = Omit<AaveV3Position, 'marketId'>
/** Position in a market, of the shape that lending families share; what is null does not answer, and `reason` says why. */
export type MarketPosition = Pick<
  Schemas['CompoundV3Position'],
  | 'marketId'
  | 'healthFactor'
  | 'netWorthUSD'
  | 'totalCollateralUSD'
  | 'totalDebtUSD'
  | 'liquidatable_because'
  | 'due_at'
  | 'suppliedAssets'
  | 'borrowedAssets'
> & { readonly reason?: string | null; readonly borrowLimitUSD?: string }
export type LendingEvents = Success<paths['/v1/lending/aave-v3/position/{chain_id}/events']['get']>
export type LendingEvent = Schemas['LendingEvent']
export type LendingSnapshots = Success<paths['/v1/lending/aave-v3/position/{chain_id}/snapshots']['get']>
export type LendingSnapshot = Schemas['LendingSnapshot']
export type MorphoPosition = Schemas['MorphoPosition']
export type MorphoCalculations = Schemas['MorphoCalculations']
export type KaminoList = Success<paths['/v1/lending/kamino']['get']>
export type KaminoPosition = Schemas['KaminoPosition']
export type KaminoYield = Success<paths['/v1/lending/kamino/position/{obligation_address}/yield']['get']>['data']
export type KaminoRisk = Success<paths['/v1/lending/kamino/position/{obligation_address}/risk']['get']>['data']

export type EnsName = Success<paths['/v1/names']['get']>
export type PortfolioBalance = Success<paths['/v1/portfolio/balance']['get']>
export type WalletOverview = Success<paths['/v1/wallet/overview']['get']>
export type ToDo = Schemas['ToDo']
export type PortfolioExit = Success<paths['/v1/portfolio/exit']['get']>
export type PortfolioSnapshots = Success<paths['/v1/portfolio/snapshots']['get']>
export type AssetList = Success<paths['/v1/portfolio/assets']['get']>
export type Asset = Schemas['Asset']

export type TriggerList = Success<paths['/v1/triggers']['get']>
export type Trigger = Schemas['Trigger']
export type WebhookList = Success<paths['/v1/webhooks']['get']>
export type MessageList = Success<paths['/v1/events']['get']>
export type Message = Schemas['Message']
export type Webhook = Schemas['Webhook']
export type WebhookWithSecret = Schemas['WebhookWithSecret']
export type DeliveryList = Success<paths['/v1/triggers/{id}/deliveries']['get']>
export type Delivery = Schemas['Delivery']
export type RequestLog = Success<OrganizationPaths['/dashboard/v1/logs']['get']>
export type LoggedRequest = Schemas['LoggedRequest']

export type Organization = Success<OrganizationPaths['/dashboard/v1/organization']['get']>['data']
export type Usage = Success<OrganizationPaths['/dashboard/v1/usage']['get']>['data']
export type Latency = Success<OrganizationPaths['/dashboard/v1/latency']['get']>['data'][number]
export type KeyList = Success<OrganizationPaths['/dashboard/v1/keys']['get']>
export type Key = KeyList['data'][number]
export type NewKey = Success<OrganizationPaths['/dashboard/v1/keys']['post']>['data']
export type DeadLetterList = Success<OrganizationPaths['/dashboard/v1/dead-letters']['get']>
export type DeadLetter = DeadLetterList['data'][number]

export type OrganizationList = Success<OperatorPaths['/admin/v1/organizations']['get']>
export type OrganizationRow = OrganizationList['data'][number]
export type GrantList = Success<OperatorPaths['/admin/v1/organizations/{organization_id}/grants']['get']>
export type Grant = GrantList['data'][number]
export type LoginLink = Success<OperatorPaths['/admin/v1/login-links']['post']>['data']
export type AuditList = Success<OperatorPaths['/admin/v1/audit']['get']>
export type Change = AuditList['data'][number]
export type Settings = Success<OperatorPaths['/admin/v1/settings']['get']>
export type Switch = Settings['data']['switches'][number]
export type Chain = Success<OperatorPaths['/admin/v1/chains']['get']>['data'][number]
export type TriggerReport = Success<OperatorPaths['/admin/v1/triggers']['get']>['data']
export type History = Success<OperatorPaths['/admin/v1/history']['get']>['data'][number]

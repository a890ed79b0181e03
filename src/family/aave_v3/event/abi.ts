import { type Hex, toEventSelector } from 'viem'

/**
 * Events of the Pool, the aToken and the debt tokens, from 3.0 to 3.6. Those of stable debt ended with 3.2, deficits
 * began with 3.3; the others never changed. Source: `IPool`, `IScaledBalanceToken`, `IAToken` and `IStableDebtToken` of
 * `@aave-dao/aave-v3-origin` 3.6.0 and `@aave/core-v3` 1.19.3.
 */
const SIGNATURES = {
  supply: 'Supply(address,address,address,uint256,uint16)',
  withdraw: 'Withdraw(address,address,address,uint256)',
  borrow: 'Borrow(address,address,address,uint256,uint8,uint256,uint16)',
  repay: 'Repay(address,address,address,uint256,bool)',
  liquidation: 'LiquidationCall(address,address,address,uint256,uint256,address,bool)',
  deficit: 'DeficitCreated(address,address,uint256)',
  treasury: 'MintedToTreasury(address,uint256)',
  update: 'ReserveDataUpdated(address,uint256,uint256,uint256,uint256,uint256)',
  mint: 'Mint(address,address,uint256,uint256,uint256)',
  burn: 'Burn(address,address,uint256,uint256,uint256)',
  transfer: 'BalanceTransfer(address,address,uint256,uint256)',
  stableMint: 'Mint(address,address,uint256,uint256,uint256,uint256,uint256,uint256)',
  stableBurn: 'Burn(address,uint256,uint256,uint256,uint256,uint256)',
} as const

/** Name of an event that matters here. */
type EventName = keyof typeof SIGNATURES

/** First topic of each event. */
export const TOPICS = Object.fromEntries(
  Object.entries(SIGNATURES).map(([name, signature]) => [name, toEventSelector(signature)]),
) as Readonly<Record<EventName, Hex>>

/** Name of the event that a first topic stands for. */
export const EVENT_NAMES: ReadonlyMap<Hex, EventName> = new Map(
  (Object.entries(TOPICS) as [EventName, Hex][]).map(([name, topic]) => [topic, name]),
)

/** Number of topics and of data words of each event. */
export const SHAPES: Readonly<Record<EventName, { readonly topics: number; readonly words: number }>> = {
  supply: { topics: 4, words: 2 },
  withdraw: { topics: 4, words: 1 },
  borrow: { topics: 4, words: 4 },
  repay: { topics: 4, words: 2 },
  liquidation: { topics: 4, words: 4 },
  deficit: { topics: 3, words: 1 },
  treasury: { topics: 2, words: 1 },
  update: { topics: 2, words: 5 },
  mint: { topics: 3, words: 3 },
  burn: { topics: 3, words: 3 },
  transfer: { topics: 3, words: 2 },
  stableMint: { topics: 3, words: 6 },
  stableBurn: { topics: 2, words: 5 },
}

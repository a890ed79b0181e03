import { type FeeGrowth, isInRange, type TickRange, type TokenAmounts } from '../../finance/math/liquidity.ts'
import {
  COLLECTABLE_PARTS,
  type FeeMeter,
  nameExchange,
  type PositionOutlook,
  sayAmount,
  type ToDo,
} from '../outlook.ts'

/** What a family of liquidity knows of a position. */
interface LiquidityFacts extends Pick<PositionOutlook, 'position' | 'code'>, TickRange {
  readonly tokenId: string
  readonly liquidity: bigint
  /** Tick of the pool. */
  readonly tick: number
  readonly tokens: FeeMeter['tokens']
  /** What collecting pays, without rewards. */
  readonly owed: TokenAmounts
  /** True if something was withdrawn or credited before and not collected. */
  readonly isCredited: boolean
  /** Fee growth inside the range; undefined if it earns no fees, `untold` where no past block can be read. */
  readonly inside: FeeGrowth | 'untold' | undefined
  /** Time of the read, Unix seconds. */
  readonly timestampSec: bigint
}

/** Says what a liquidity position's owner has to see to, and how far its fees have grown. */
export function outlookLiquidity(facts: LiquidityFacts): PositionOutlook {
  const { position, code, liquidity, inside, timestampSec, tokens } = facts
  const toDo = [findOutOfRange(facts), findUncollected(facts)].filter((each) => each !== undefined)
  if (liquidity === 0n) return { position, code, toDo }
  if (typeof inside === 'object') return { position, code, toDo, fees: { ...inside, liquidity, timestampSec, tokens } }
  const untold =
    inside === 'untold'
      ? { what: `fees of ${nameFacts(facts)}`, why: 'Endpoints of Solana keep no past state' }
      : { what: `rewards of ${nameFacts(facts)}`, why: 'What its custodian pays in a day is not read' }
  return { position, code, toDo, untold: [untold] }
}

function findOutOfRange(facts: LiquidityFacts): ToDo | undefined {
  const { liquidity, tick, tickLower, tickUpper } = facts
  if (liquidity === 0n || isInRange(tick, facts)) return undefined
  const away = formatDistance(tick < tickLower ? tickLower - tick : tick - tickUpper + 1)
  const text = `${nameFacts(facts)} is out of range by ${away} % and earns no fees.`
  return { kind: 'out_of_range', text, concerns: ({ part }) => part === 'principal' }
}

/** Formats by how much a price of so many ticks differs, percent. Only sentences have it. */
function formatDistance(ticks: number): string {
  const percent = Math.expm1(ticks * Math.log(1.0001)) * 100
  return percent >= 1_000 ? 'more than 1000' : percent.toFixed(1)
}

function findUncollected(facts: LiquidityFacts): ToDo | undefined {
  const { liquidity, owed, tokens, isCredited } = facts
  if (owed.amount0 + owed.amount1 === 0n || (liquidity > 0n && !isCredited)) return undefined
  const amounts = [owed.amount0, owed.amount1]
    .flatMap((amount, index) => (amount === 0n ? [] : sayAmount(amount, tokens[index === 0 ? 0 : 1])))
    .join(' and ')
  const text =
    liquidity === 0n
      ? `${nameFacts(facts)} has no liquidity any more, but ${amounts} was not collected.`
      : `${nameFacts(facts)} was credited with amounts that were not collected: ${amounts} with its fees.`
  return { kind: 'uncollected', text, concerns: ({ part }) => part !== undefined && COLLECTABLE_PARTS.includes(part) }
}

function nameFacts({ tokens, tokenId, code }: LiquidityFacts): string {
  return `${tokens.map(({ symbol }) => symbol).join('/')} #${tokenId} of ${nameExchange(code)}`
}

/** Says that a position could not be read, and why: words that follow "because". */
export function outlookUnreadable(
  { position, code }: Pick<PositionOutlook, 'position' | 'code'>,
  { tokenId, reason }: { readonly tokenId: string; readonly reason: string },
): PositionOutlook {
  const text = `Position #${tokenId} of ${nameExchange(code)} cannot be read: ${reason}.`
  return { position, code, toDo: [{ kind: 'unreadable', text, concerns: () => false }] }
}

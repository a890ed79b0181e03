import * as v from 'valibot'
import type { WatchSubject } from '../family/watch.ts'
import { formatExact } from '../lib/number/decimal.ts'
import { type Rational, rational } from '../lib/number/rational.ts'
import { withWords } from '../lib/text/text_format.ts'

/** The finality that a block must have to be evaluated. */
export const FINALITY_LEVELS = ['latest', 'safe', 'finalized'] as const
export type FinalityLevel = (typeof FINALITY_LEVELS)[number]

/** A threshold: digits, at most one point with digits on both sides, no sign. */
export const threshold = v.pipe(
  v.string(),
  v.regex(/^\d{1,18}(\.\d{1,18})?$/, 'expected a decimal number such as "1.05"'),
)
const figure = withWords('Figure of the family', v.string())
/** What a threshold is. */
export const THRESHOLD_WORDS = "Decimal text in the figure's unit"

/** Blocks between two looks at a figure that takes long to read. */
export const SAMPLE_BLOCKS = 20

/** How often triggers look: at each block, or only now and then. Their partitions are apart, so that none waits. */
export const PACES = {
  exact: { shard: 0, hourCredits: 1 },
  sampled: { shard: 1, hourCredits: 5 },
} as const
export type Pace = keyof typeof PACES

/** Returns the pace of a partition. */
export function getPace(shard: number): Pace {
  return shard === PACES.sampled.shard ? 'sampled' : 'exact'
}

/** When a trigger fires: `when` of a request, and the stored clause. Names are not checked here. */
export const clauseSchema = v.union(
  [
    v.strictObject({ figure, below: withWords(THRESHOLD_WORDS, threshold) }),
    v.strictObject({ figure, above: withWords(THRESHOLD_WORDS, threshold) }),
    v.strictObject({ figure, is: withWords('Fires while it is this', v.boolean()) }),
    v.strictObject({ event: withWords('Fires at each of these events', v.pipe(v.array(v.string()), v.minLength(1))) }),
  ],
  'expected { figure, below }, { figure, above }, { figure, is } or { event: [types] }, thresholds as decimal text',
)
export type Clause = v.InferOutput<typeof clauseSchema>

/** The definition of a trigger, as the loops use it. */
export interface Trigger {
  readonly organizationId: string
  readonly id: string
  readonly family: string
  readonly subject: WatchSubject
  readonly clause: Clause
  /** Decimal; null if the clause needs no level. */
  readonly clear: string | null
  readonly forBlocks: number
  readonly finality: FinalityLevel
  readonly name: string | null
}

/** The last evaluated state of a trigger. */
export interface TriggerState {
  /** Incremented by each edit. */
  readonly edition: number
  readonly phase: 'armed' | 'pending' | 'fired'
  /** Consecutive blocks in which the clause held, while pending. */
  readonly heldBlocks: number
  readonly changes: number
  /** The last notified value of the figure. */
  readonly value: string | null
  /** The block at which the phase started; null if none did. */
  readonly since: bigint | null
}

const CLEAR_PERCENT = 2n

/** The default level that re-arms a trigger: 2 % beyond its threshold. Null if the clause needs no level. */
export function defaultClear(clause: Clause): string | null {
  if (!('below' in clause) && !('above' in clause)) return null
  const { units, scale } = 'below' in clause ? parseDecimal(clause.below) : parseDecimal(clause.above)
  const percent = 'below' in clause ? 100n + CLEAR_PERCENT : 100n - CLEAR_PERCENT
  return formatExact(units * percent, scale + 2)
}

/** The exact value of a decimal text with any number of digits. */
export function parseExact(text: string): Rational {
  const { units, scale } = parseDecimal(text)
  return rational(units, 10n ** BigInt(scale))
}

function parseDecimal(text: string) {
  const [whole = '', fraction = ''] = text.split('.')
  return { units: BigInt(whole + fraction), scale: fraction.length }
}

/** An evaluated block. The hash is empty on Solana, whose confirmed slots are never replaced. */
export interface BlockMark {
  readonly number: bigint
  readonly hash: string
  readonly timestampSec: bigint
}

import { type Hex, numberToHex } from 'viem'
import type { Random } from '../../../support/history/simulation/random.ts'
import { type Act, type Block, makeBlock, type Transaction, toTimeSec, WALLETS } from './blocks.ts'

/** What a liar says otherwise than it is, and in which of its answers. */
export interface Lie {
  /** What is false, for the table of lies. */
  readonly kinds: readonly string[]
  /** Blocks that it made up, by number. */
  readonly blocks: ReadonlyMap<number, Block>
  readonly logs: 'true' | 'false'
  readonly receipts: 'true' | 'false' | 'none'
  readonly blockReceipts: 'true' | 'false' | 'refused'
  /** `root`: the header has the root of what it made up, under the true hash. `own`: and a hash of its own. */
  readonly headers: 'true' | 'root' | 'own'
  /** Seconds that its logs are off. */
  readonly timeOffSec: number
  readonly final: 'true' | 'hash' | 'high' | 'low'
  readonly head: 'true' | 'high' | 'low'
  /** The hash of the grandparent of the newest block, in the header of its parent. */
  readonly grandparent: 'true' | 'false' | 'refused'
}

/** Of a block that does not exist. */
export const FALSE_HASH = numberToHex(0xbad, { size: 32 })

/** Changes of a block's transactions that keep each log with its pair. */
const CHANGES: Readonly<Record<string, (random: Random, block: Block) => readonly Transaction[]>> = {
  'adds a transaction': (random, { transactions }) => [...transactions, { hash: FALSE_HASH, acts: [pickAct(random)] }],
  'adds logs to a transaction': (random, { transactions }) =>
    transactions.map((each, index) => (index === 0 ? { ...each, acts: [...each.acts, pickAct(random)] } : each)),
  'leaves out a transaction': (_, { transactions }) => transactions.slice(1),
  'leaves out logs': (_, { transactions }) =>
    transactions.map((each, index) => (index === 0 ? { ...each, acts: each.acts.slice(1) } : each)),
  'changes an amount': (random, { transactions }) => changed(transactions, () => ({ amount: 1 + random.below(9_999) })),
  'changes a wallet': (random, { transactions }) => changed(transactions, () => ({ wallet: random.pick(WALLETS) })),
  'changes a transaction hash': (_, { transactions }) =>
    transactions.map((each, index) => (index === 0 ? { ...each, hash: FALSE_HASH } : each)),
  'swaps transactions': (_, { transactions }) => [...transactions].reverse(),
}

function pickAct(random: Random): Act {
  return { wallet: random.pick(WALLETS), amount: 3_021_482_808 }
}

function changed(transactions: readonly Transaction[], change: () => Partial<Act>): readonly Transaction[] {
  return transactions.map((each, index) =>
    index === 0 ? { ...each, acts: each.acts.map((act, at) => (at === 0 ? { ...act, ...change() } : act)) } : each,
  )
}

/** A lie about a chain, consistent or not. */
export function makeLie(random: Random, chain: readonly Block[]): Lie {
  const headers = random.pick(['true', 'true', 'root', 'own'] as const)
  const kinds = new Set<string>()
  const blocks = new Map<number, Block>()
  const busy = chain.filter(({ transactions }) => transactions.length > 0)
  for (let count = 1 + random.below(3); count > 0; count--) {
    const [name, change] = random.pick(Object.entries(CHANGES))
    const block = random.pick(name === 'adds a transaction' ? chain.slice(1) : busy)
    const made = makeBlock(block.number, block.header['parentHash'] as Hex, change(random, block))
    blocks.set(
      block.number,
      headers === 'own' ? made : { ...made, header: { ...made.header, hash: block.header.hash } },
    )
    kinds.add(`logs: ${name}`)
  }
  const lie: Lie = {
    kinds: [],
    blocks,
    headers,
    logs: random.pick(['false', 'false', 'false', 'true']),
    receipts: random.pick(['true', 'false', 'false', 'none']),
    blockReceipts: random.pick(['true', 'false', 'refused']),
    timeOffSec: random.chance(0.2) ? random.pick([-3_600, 12, 86_400]) : 0,
    final: random.pick(['true', 'true', 'true', 'hash', 'high', 'low']),
    head: random.pick(['true', 'true', 'true', 'true', 'high', 'low']),
    grandparent: random.pick(['true', 'true', 'false', 'refused']),
  }
  if (lie.logs === 'true') kinds.clear()
  if (lie.receipts !== 'true') kinds.add(lie.receipts === 'none' ? 'receipts: none' : 'receipts: made up')
  if (lie.blockReceipts === 'false') kinds.add('receipts: made up for blocks')
  if (lie.timeOffSec !== 0) kinds.add('logs: false time')
  if (lie.headers !== 'true') kinds.add(lie.headers === 'root' ? 'headers: false root' : 'headers: false hash')
  if (lie.final !== 'true') kinds.add(`headers: final block ${lie.final}`)
  if (lie.head !== 'true') kinds.add(`headers: head ${lie.head}`)
  if (lie.grandparent === 'false') kinds.add('headers: false hash of the grandparent')
  return { ...lie, kinds: [...kinds] }
}

/** The head that a liar shows. */
export function bendHead(lie: Lie | undefined, head: number): number {
  return lie?.head === 'high' ? head + 1_000_000_000 : lie?.head === 'low' ? Math.floor(head / 3) : head
}

/** A block that does not exist, as a liar shows it: young by the clock. */
export function phantom(number: number, timeSec: number): Readonly<Record<string, unknown>> {
  const made = makeBlock(number, FALSE_HASH, [])
  return { ...made.header, timestamp: numberToHex(timeSec) }
}

/** Unix seconds that a liar gives with the logs of a block. */
export function bendLogTime(lie: Lie | undefined, number: number): number {
  return toTimeSec(number) + (lie?.timeOffSec ?? 0)
}

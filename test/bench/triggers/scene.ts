import type { Database } from '../../../src/db/database.ts'
import { setPriceCall } from '../../devnet/aave_v3/calls.ts'
import type { Devnet } from '../../devnet/mod.ts'
import type { Service } from '../../devnet/service.ts'
import { waitFor } from '../../support/wait_for.ts'
import type { FarCommand, FarCounts } from '../answers/far.ts'
import type { Child } from '../child.ts'
import type { ReceiverCounts } from './receiver.ts'

export const AWAY_MS = 40
/** Between two blocks, at least. */
export const BLOCK_MS = 1_000

export interface Bench {
  readonly devnet: Devnet
  readonly service: Service
  /** Of the service. */
  readonly db: Database
  readonly endpoint: Child
  readonly receiver: Child
  readonly quick: boolean
  /** Of ether at first, 8 decimals. */
  readonly price: bigint
}

export type Rows = (readonly [what: string, measured: string, goal: string])[]

export function thousandths({ price }: Bench, share: number): bigint {
  return (price * BigInt(share)) / 1_000n
}

/** Mines a block with this price, and waits until what it changed is durable; the time is from the endpoint on. */
export async function oneBlock(
  bench: Bench,
  price: bigint,
): Promise<{ readonly ms: number; readonly counts: FarCounts }> {
  const { number, counts } = await mine(bench, price)
  const startedMs = performance.now()
  const isDurable = async () => {
    const [row] = await bench.db.run<{ block: string }>('select block from watch_cursor', [])
    return BigInt(row?.block ?? -1) >= number
  }
  await waitFor(`block ${number} evaluated`, isDurable, 60_000)
  return { ms: performance.now() - startedMs, counts }
}

/** Mines a block, and shows it at the endpoint. Gives what that was asked since. */
export async function mine({ devnet, endpoint, price: first }: Bench, price = first) {
  await devnet.send([setPriceCall('weth', price)])
  const number = await devnet.client.getBlockNumber()
  return { number, counts: await tell(endpoint, true) }
}

export async function isEvaluated({ devnet, db }: Bench): Promise<boolean> {
  const newest = await devnet.client.getBlockNumber()
  const [row] = await db.run<{ families: number }>(
    'select count(*)::integer as families from watch_sight where block >= $1::bigint',
    [String(newest)],
  )
  return row?.families === 2
}

export async function countMessages({ db }: Bench): Promise<number> {
  const [row] = await db.run<{ count: number }>('select count(*)::integer as count from message', [])
  return row?.count ?? 0
}

export async function untilPosted({ db }: Bench): Promise<void> {
  const isDone = async () => {
    const [row] = await db.run<{ left: boolean }>(
      'select exists (select from message where due_at is not null) as left',
      [],
    )
    return row?.left === false
  }
  await waitFor('all messages posted', isDone, 60_000)
}

export async function ask(receiver: Child): Promise<ReceiverCounts> {
  receiver.write({})
  return await receiver.read<ReceiverCounts>()
}

export async function tell(endpoint: Child, forgetsLatest = false): Promise<FarCounts> {
  endpoint.write({ delayMs: AWAY_MS, forgetsLatest } satisfies FarCommand)
  return await endpoint.read<FarCounts>()
}

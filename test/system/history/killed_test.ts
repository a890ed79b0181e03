import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { readLendingEvents } from '../../../src/family/lending/lending_event.ts'
import { type Anvil, startAnvil } from '../../devnet/anvil.ts'
import { createRpc, type Rpc } from '../../devnet/rpc.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import {
  actInBlocks,
  deployEmitter,
  describeRows,
  EMITTED,
  readTruth,
  toTarget,
  toWallet,
} from '../../support/history/scene.ts'
import { capped } from '../../support/history/simulation/capped.ts'
import { CAP_DIALECTS } from '../../support/history/simulation/endpoint.ts'
import { type Fault, type FaultyRpc, type SeenRequest, startFaultyRpc } from '../../support/rpc.ts'
import { waitFor } from '../../support/wait_for.ts'

const CHAIN_ID = 31_337
const HEAD = 80
const FINAL = 70
const WALLETS = [0, 1, 2, 3].map(toWallet)
const [dialect] = CAP_DIALECTS as [(typeof CAP_DIALECTS)[number]]

let anvil: Anvil
let rpc: Rpc
let proxy: FaultyRpc
let database: TestDatabase

beforeAll(async () => {
  anvil = await startAnvil({ chainId: CHAIN_ID })
  rpc = createRpc(anvil.rpcUrl)
  await deployEmitter(rpc)
  await actInBlocks(rpc, HEAD)
  proxy = await startFaultyRpc(anvil.rpcUrl)
  database = await testDatabase()
}, 120_000)
afterAll(async () => {
  await proxy?.stop()
  await anvil?.stop()
  await database?.close()
}, 120_000)

function startFollowing() {
  const words = [proxy.url, database.url, String(CHAIN_ID), ...WALLETS]
  return Bun.spawn([process.execPath, join(import.meta.dir, 'follow_emitter.ts'), ...words], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  })
}

/** Answers so many requests for logs, and no more; ranges longer than 5 blocks are refused. */
function answerOnly(count: number): { readonly isSpent: () => boolean } {
  const limited = capped(dialect, 5)
  let left = count
  proxy.rule((request: SeenRequest): Fault | undefined => {
    if (request.method !== 'eth_getLogs') return undefined
    return limited(request) ?? (left-- > 0 ? undefined : { kind: 'hang' })
  })
  return { isSpent: () => left < 0 }
}

async function storedRows(): Promise<number> {
  const [row] = await database.db.run<{ rows: string }>('select count(*)::text as rows from lending_event', [])
  return Number(row?.rows)
}

/** Blocks that are stored, of all wallets. */
async function storedBlocks(): Promise<number> {
  const [row] = await database.db.run<{ blocks: string }>(
    `select coalesce(sum(upper(part) - lower(part)), 0)::text as blocks
     from history_coverage, unnest(history_coverage.blocks) as part`,
    [],
  )
  return Number(row?.blocks)
}

test('a process that is killed while it reads goes on where it stopped, with every event once', async () => {
  const stored: number[] = []
  for (const count of [15, 50, 60]) {
    const { isSpent } = answerOnly(count)
    const child = startFollowing()
    try {
      await waitFor('a request that is not answered', isSpent)
    } finally {
      child.kill('SIGKILL')
    }
    await child.exited
    expect(child.signalCode).toBe('SIGKILL')
    stored.push(await storedBlocks())
    // What it held is free after a while.
    const held = 'update lease set until = now() where until > now() returning 1 as held'
    expect((await database.db.run(held, [])).length).toBe(1)
  }
  // Each went on with what the one before had stored, and was killed in the middle.
  expect(stored).toEqual([...stored].sort((a, b) => a - b))
  expect(new Set(stored).size).toBe(stored.length)
  expect(stored.at(-1)).toBeGreaterThan(FINAL)
  expect(stored.at(-1)).toBeLessThan(WALLETS.length * FINAL)

  answerOnly(Number.POSITIVE_INFINITY)
  expect(await startFollowing().exited).toBe(0)
  expect(await storedBlocks()).toBe(WALLETS.length * FINAL)
  let rows = 0
  for (const wallet of WALLETS) {
    const truth = await readTruth(rpc, wallet, FINAL)
    const read = await readLendingEvents(database.db, {
      target: toTarget(CHAIN_ID),
      stream: EMITTED.name,
      wallet,
      toBlock: FINAL,
      kinds: ['supply'] as const,
      skip: 0,
      max: 1_000,
    })
    expect(describeRows(read?.events ?? [])).toEqual(truth)
    rows += truth.length
  }
  expect(await storedRows()).toBe(rows)
}, 120_000)

import { expect, test } from 'bun:test'
import type { Hex } from 'viem'
import type { BackgroundEndpoint, ChainClient } from '../../../../src/chain/rpc/client.ts'
import type { Database } from '../../../../src/db/database.ts'
import { createFollower } from '../../../../src/history/follow/follower.ts'
import { createAdaptiveLogSource } from '../../../../src/history/logs/reader.ts'
import { createLogSource } from '../../../../src/history/logs/source.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { caseCount } from '../../../support/cases.ts'
import { describeRows, EMITTER, POOL_TOPIC, toTopic } from '../../../support/history/scene.ts'
import { type SimulatedChain, simulateChain, toHash, WALLETS } from '../../../support/history/simulation/chain.ts'
import { simulateEndpoints } from '../../../support/history/simulation/endpoint.ts'
import { createRandom, type Random } from '../../../support/history/simulation/random.ts'
import { createSkippingClock } from '../../../support/test_clock.ts'
import { CrashError, type SimulatedStore, simulateStore } from './store.ts'

const never = new AbortController().signal
const CHAIN_ID = 31_337
const PLACE = { chainId: CHAIN_ID, contract: EMITTER, startBlock: 1 }
/** Times that one process is asked again after a failure or a crash, before it counts as hanging. */
const ASKS_MAX = 60

interface World {
  readonly random: Random
  readonly chain: SimulatedChain
  readonly endpoints: readonly BackgroundEndpoint[]
  readonly store: SimulatedStore
  readonly clock: ReturnType<typeof createSkippingClock>
}

function simulateWorld(seed: number): World {
  const random = createRandom(seed)
  const chain = simulateChain(random)
  const clock = createSkippingClock()
  return {
    random,
    chain,
    clock,
    endpoints: simulateEndpoints(random, chain),
    store: simulateStore(clock.now),
  }
}

/** One process, until it dies at a statement or has what it was asked for. */
async function runProcess(world: World, holder: string, wallets: readonly (Hex | null)[]): Promise<void> {
  const { random, chain, endpoints, store, clock } = world
  let crashesLeft = random.below(4)
  for (let asks = 0; asks < ASKS_MAX; asks++) {
    let isDead = false
    const crashes = () => {
      if (!isDead && crashesLeft > 0 && random.chance(0.03)) {
        crashesLeft--
        isDead = true
      }
      return isDead
    }
    const { coverage, stream } = store.open(`${holder} ${asks}`, crashes)
    const follower = createFollower({
      stream,
      target: PLACE,
      coverage,
      clock,
      log: silentLog,
      client: { chain: { id: CHAIN_ID, name: 'Simulated' } } as unknown as ChainClient,
      sources: endpoints.map((endpoint) =>
        createAdaptiveLogSource({ source: createLogSource(endpoint, CHAIN_ID), clock }),
      ),
      db: {} as Database,
      onStored: () => {},
      onHealed: () => {},
    })
    const final = { number: chain.blocks, hash: toHash(chain.blocks), epoch: 0 }
    const ends = await Promise.allSettled(
      wallets.map((subject) =>
        follower.complete({ subject, fromBlock: 1, final, requesters: new Set() }, PLACE, never),
      ),
    )
    await follower.close()
    if (ends.every(({ status }) => status === 'fulfilled')) return
    for (const end of ends) if (end.status === 'rejected') checkFailure(end.reason)
    // What a dead process held is free after a while.
    await clock.sleep(5_000)
  }
  throw new Error(`${holder} never had what it was asked for`)
}

/** Only crashes and refusals that a caller is told about may end an attempt. */
function checkFailure(error: unknown): void {
  const isExpected = error instanceof CrashError || (error instanceof Error && error.name === 'UnavailableError')
  if (!isExpected) throw error
}

async function simulate(seed: number): Promise<void> {
  const world = simulateWorld(seed)
  const processes = 1 + world.random.below(3)
  await Promise.all(
    Array.from({ length: processes }, (_, index) => {
      const asked = WALLETS.filter(() => world.random.chance(0.6))
      return runProcess(world, `process ${index}`, asked.length === 0 ? [null] : asked)
    }),
  )
  // Whatever was asked for, at the end all of it is asked for once more.
  await runProcess(world, 'last', WALLETS)
  for (const wallet of WALLETS) {
    const truth = world.chain.logs
      .filter(({ topics }) => topics[0] === POOL_TOPIC && topics[1] === toTopic(wallet))
      .map(({ blockNumber, logIndex, data }) => `${blockNumber}:${logIndex}:${BigInt(data)}`)
    expect({ seed, wallet, rows: describeRows(world.store.rowsOf(wallet)) }).toEqual({ seed, wallet, rows: truth })
  }
}

const SEEDS = Number(process.env['HISTORY_SEEDS'] ?? caseCount(1_000, 64))

/** All of them are the work of a minute: no test may take that long beside others. */
const PARTS = 8

test.each(Array.from({ length: PARTS }, (_, part) => part + 1))(
  `${SEEDS} histories of endpoints that forget, fork, cap, lose and lie, read by processes that die, equal the truth: part %d of ${PARTS}`,
  async (part) => {
    for (let seed = part; seed <= SEEDS; seed += PARTS) {
      try {
        await simulate(seed)
      } catch (cause) {
        throw new Error(`Seed ${seed} failed: ${cause instanceof Error ? cause.message : cause}`, { cause })
      }
    }
  },
  60_000,
)

import { afterAll, afterEach, beforeAll, beforeEach } from 'bun:test'
import { startAnvil } from '../../devnet/anvil.ts'
import { createRpc, type Rpc } from '../../devnet/rpc.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'

export const CHAIN_ID = 31_337

/** The chain of a test file behind endpoints with faults, and a database for each of its tests. */
export interface Stage {
  readonly rpc: Rpc
  /** In front of the chain; each test begins without faults. */
  readonly proxies: readonly FaultyRpc[]
  /** The first of them. */
  readonly proxy: FaultyRpc
  /** Empty when a test begins. */
  database: TestDatabase
  /** What to undo after the test, in this order. */
  readonly closers: (() => unknown)[]
}

/** Sets the stage for the test file that calls it; `prepare` lets things happen on the chain before its first test. */
export function setStage(options: { readonly endpoints: number; prepare(rpc: Rpc): Promise<void> }): Stage {
  const made: { -readonly [name in keyof Stage]?: Stage[name] } = {}
  const the = <N extends keyof Stage>(name: N): Stage[N] => {
    const value = made[name]
    if (value === undefined) throw new Error(`Cannot use ${name} before the tests begin`)
    return value as Stage[N]
  }
  const closers: (() => unknown)[] = []
  let stop = async () => {}

  beforeAll(async () => {
    const anvil = await startAnvil({ chainId: CHAIN_ID })
    stop = () => anvil.stop()
    made.rpc = createRpc(anvil.rpcUrl)
    await options.prepare(made.rpc)
    made.proxies = await Promise.all(Array.from({ length: options.endpoints }, () => startFaultyRpc(anvil.rpcUrl)))
  }, 60_000)
  beforeEach(async () => {
    made.database = await testDatabase()
    for (const proxy of the('proxies')) {
      proxy.rule(() => undefined)
      proxy.reset()
    }
  })
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
    await the('database').close()
  })
  afterAll(async () => {
    await Promise.all((made.proxies ?? []).map((proxy) => proxy.stop()))
    await stop()
  }, 60_000)

  return {
    closers,
    get rpc() {
      return the('rpc')
    },
    get proxies() {
      return the('proxies')
    },
    get proxy() {
      const [first] = the('proxies')
      if (first === undefined) throw new Error('Cannot use the first of no endpoints')
      return first
    },
    get database() {
      return the('database')
    },
    set database(next) {
      made.database = next
    },
  }
}

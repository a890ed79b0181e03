import { afterAll, beforeAll, expect, test } from 'bun:test'
import { numberToHex } from 'viem'
import { readMulticall } from '../../../../src/chain/call/many/multicall.ts'
import { createChainClient } from '../../../../src/chain/evm/evm_client.ts'
import { createCitingClient } from '../../../../src/chain/receipt/citing.ts'
import { createRecorder } from '../../../../src/chain/receipt/recorder.ts'
import type { ChainClient } from '../../../../src/chain/rpc/client.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createReplayer } from '../../../../src/receipt/replay.ts'
import { type Anvil, startAnvil } from '../../../devnet/anvil.ts'
import { createRpc } from '../../../devnet/rpc.ts'
import { createHurriedClock, slowClock } from '../../../support/test_clock.ts'

const work = createWork(new AbortController().signal)

let anvil: Anvil
let client: ChainClient

beforeAll(async () => {
  anvil = await startAnvil()
  await createRpc(anvil.rpcUrl).call('anvil_mine', '0x5')
  const chain = { id: 1, name: 'Ethereum', rpcUrls: [anvil.rpcUrl], reuseMs: 0, finality: { depth: 0 } }
  client = createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
}, 60_000)
afterAll(() => anvil?.stop())

/** Sends more concurrent calls in one attempt than are sent alone: the identity precompile for as many numbers. */
function readMany(over: ChainClient) {
  const numbers = Array.from({ length: 24 }, (_, index) => numberToHex(index, { size: 32 }))
  return over.read(
    (endpoint, within) =>
      Promise.all(
        numbers.map(async (data) => {
          const calls = [{ to: numberToHex(4, { size: 20 }), data }]
          const question = { calls, block: { chainId: 1 }, isLight: true, clock: slowClock }
          return (await readMulticall(endpoint, question, within)).results
        }),
      ),
    { work },
  )
}

test.each([false, true])(
  'a record holds every light call of an attempt that makes many (together: %p)',
  async (together) => {
    const { client: noted, record } = createRecorder(client)
    const willing: ChainClient = {
      ...noted,
      read: (attempt, options) => noted.read(attempt, { ...options, isBundled: together }),
    }
    const read = await readMany(willing)
    expect(read).toEqual(await readMany(client))
    const kept = record()
    if (kept === undefined) throw new Error('Expected a record')
    expect(kept.calls).toHaveLength(24)
    const replayer = createReplayer(kept, { chain: client.chain, clock: slowClock })
    expect(await readMany(replayer.client)).toEqual(read)
    expect([replayer.isMissing(), replayer.faults()]).toEqual([false, []])
  },
)

test('a recording client has the chain of the client that it wraps', () => {
  const agreeing: ChainClient = { ...client, agreed: 2 }
  for (const make of [createRecorder, createCitingClient]) {
    const { read: _, ...said } = make(agreeing).client
    const { read: __, ...given } = agreeing
    expect(said).toEqual(given)
  }
})

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, parseAbi } from 'viem'
import { runAgreed } from '../../../../src/chain/call/exit/run_agreed.ts'
import { simulateUnits } from '../../../../src/chain/call/exit/simulate.ts'
import type { ExitUnit } from '../../../../src/chain/call/exit/step.ts'
import { createChainClient } from '../../../../src/chain/evm/evm_client.ts'
import { readLatestBlock } from '../../../../src/chain/evm/read_block.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { systemClock as clock } from '../../../../src/lib/clock.ts'
import { silentLog as log } from '../../../../src/lib/log.ts'
import { BANK, toWalletAddress } from '../../../devnet/addresses.ts'
import { ownCreationCode } from '../../../devnet/artifacts.ts'
import { createRpc } from '../../../devnet/rpc.ts'
import { createSend } from '../../../devnet/transaction.ts'
import { useFaultyChain } from '../../../support/endpoint.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../support/rpc.ts'

const MINUTE_MS = 60_000
const ABI = parseAbi(['function pay(uint256)'])

const chain = useFaultyChain()
const wallet = toWalletAddress('simulates at two endpoints')
let other: FaultyRpc
let token: Address

beforeAll(async () => {
  other = await startFaultyRpc(chain.anvil.rpcUrl)
  const [receipt] = await createSend(createRpc(chain.anvil.rpcUrl))([
    { from: BANK, data: ownCreationCode('MoodToken') },
  ])
  token = receipt?.contractAddress as Address
}, MINUTE_MS)
beforeEach(() => other.rule(() => undefined))
afterAll(() => other?.stop(), MINUTE_MS)

const pay = (amount: bigint): ExitUnit => {
  const data = encodeFunctionData({ abi: ABI, functionName: 'pay', args: [amount] })
  return { steps: [{ tokens: [token], calls: [{ to: token, data }] }] }
}

/** Simulates at both endpoints, as many as `agreed` of which must agree; with the chains that rest on one word. */
async function simulate(units: readonly ExitUnit[], agreed = 1) {
  const client = createChainClient({
    chain: { id: 1, name: 'Ethereum', rpcUrls: [chain.rpc.url, other.url], reuseMs: 0, finality: { depth: 0 } },
    clock,
    log,
  })
  const work = createWork(new AbortController().signal)
  try {
    const block = await readLatestBlock(chain.endpoint, 1, work)
    const query = { wallet, units, lenders: [], block, clock, untilMs: clock.monotonicMs() + MINUTE_MS }
    const { units: outcomes } = await runAgreed(
      { ...client, agreed },
      async (endpoint, own) => ({ units: await simulateUnits(endpoint, query, own), hasOwnCode: false }),
      { work, budgetMs: MINUTE_MS, untilMs: query.untilMs },
    )
    return { kinds: outcomes.map(({ kind }) => kind), unwitnessed: [...work.unwitnessed] }
  } finally {
    client.close()
  }
}

const refuseSize = ({ method }: { readonly method: string }) =>
  method === 'eth_simulateV1' ? ({ kind: 'http', status: 413, body: '' } as const) : undefined

test('what two endpoints simulate alike has a witness', async () => {
  expect(await simulate([pay(1n)])).toEqual({ kinds: ['run'], unwitnessed: [] })
})

test('an endpoint that ran nothing is no witness of what another ran', async () => {
  for (const rpc of [chain.rpc, other]) {
    rpc.rule(refuseSize)
    expect(await simulate([pay(1n)])).toEqual({ kinds: ['run'], unwitnessed: [1] })
    await expect(simulate([pay(1n)], 2)).rejects.toThrow('2 endpoints must run it with the same outcome, and 1 did')
    rpc.rule(() => undefined)
  }
})

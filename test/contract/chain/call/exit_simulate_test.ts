import { beforeAll, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, parseAbi } from 'viem'
import { simulateUnits } from '../../../../src/chain/call/exit/simulate.ts'
import type { ExitStep, ExitUnit, StepOutcome } from '../../../../src/chain/call/exit/step.ts'
import { readLatestBlock } from '../../../../src/chain/evm/read_block.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { systemClock as clock } from '../../../../src/lib/clock.ts'
import { BANK, toWalletAddress } from '../../../devnet/addresses.ts'
import { ownCreationCode } from '../../../devnet/artifacts.ts'
import { createRpc } from '../../../devnet/rpc.ts'
import { createSend } from '../../../devnet/transaction.ts'
import { useFaultyChain } from '../../../support/endpoint.ts'

const never = createWork(new AbortController().signal)
const MINUTE_MS = 60_000
const ABI = parseAbi([
  'function mint(address, uint256)',
  'function pay(uint256)',
  'function settle(uint256)',
  'function balanceOf(address) view returns (uint256)',
])
const encode = (functionName: (typeof ABI)[number]['name'], ...args: readonly unknown[]) =>
  encodeFunctionData({ abi: ABI, functionName, args } as never)

const chain = useFaultyChain()
const wallet = toWalletAddress('simulates')
const lender = toWalletAddress('lends to simulations')
let token: Address

beforeAll(async () => {
  const send = createSend(createRpc(chain.anvil.rpcUrl))
  const [receipt] = await send([{ from: BANK, data: ownCreationCode('MoodToken') }])
  token = receipt?.contractAddress as Address
  await send([{ from: BANK, to: token, data: encode('mint', lender, 450n) }])
}, MINUTE_MS)

async function simulate(units: readonly ExitUnit[]) {
  const block = await readLatestBlock(chain.endpoint, 1, never)
  const untilMs = clock.monotonicMs() + MINUTE_MS
  const query = { wallet, units, lenders: [BANK, lender], block, clock, untilMs }
  const results = await simulateUnits(chain.endpoint, query, never)
  const short = (step: StepOutcome) => (step.kind === 'done' ? step.deltas[0] : step.kind)
  return results.map((each) => (each.kind === 'run' ? each.steps.map(short) : each.kind))
}

/** Pays the wallet as much as an account has, at most an amount; or takes that from it. */
const move = (name: 'pay' | 'settle', amount: bigint, like: Address, more: Partial<ExitStep> = {}): ExitStep => ({
  tokens: [token],
  calls: [
    {
      to: token,
      data: encode(name, amount),
      patch: { at: 4, from: token, question: encode('balanceOf', like) },
    },
  ],
  ...more,
})

const countSimulations = () => chain.rpc.seen.filter(({ method }) => method === 'eth_simulateV1').length

test('what contracts answer and who lends is learned of all steps at once', async () => {
  // Each takes no more than the wallet has by then, which the steps before it change.
  const repaid = Array.from({ length: 5 }, (_, index) =>
    move('settle', 10n + BigInt(index), wallet, { loan: { token, amount: 80n } }),
  )
  const paid = Array.from({ length: 10 }, () => move('pay', 1_000n, lender))
  const steps = [...repaid, ...paid]
  const [outcome] = await simulate([{ steps }])
  expect(outcome).toEqual([70n, 69n, 68n, 67n, 66n, ...Array<bigint>(10).fill(50n)])
  // Once without loans, once with them, once with what is there by then, and once to make sure.
  expect(countSimulations()).toBeLessThanOrEqual(4)
})

test('a failure is believed only where all before it is known', async () => {
  // Nothing is left to take where the first step took less than it would without a question.
  const bound: ExitStep = move('pay', 1_000n, lender)
  const taken: ExitStep = { tokens: [token], calls: [{ to: token, data: encode('settle', 450n) }] }
  const more: ExitStep = { tokens: [token], calls: [{ to: token, data: encode('settle', 1n) }] }
  const fallback: ExitStep = { ...bound, isFallback: true }
  expect(await simulate([{ steps: [bound, taken, more, fallback] }])).toEqual([[450n, -450n, 'reverted', 450n]])
})

test('what is too long for an endpoint is simulated in parts', async () => {
  chain.rpc.rule(({ method, params: [simulation] }) => {
    if (method !== 'eth_simulateV1') return undefined
    const [{ calls = [] } = {}] = (simulation as { readonly blockStateCalls: readonly { calls: unknown[] }[] })
      .blockStateCalls
    // A unit takes three calls.
    return calls.length > 8 ? { kind: 'http', status: 413, body: '' } : undefined
  })
  const pay = (amount: bigint): ExitUnit => ({
    steps: [{ tokens: [token], calls: [{ to: token, data: encode('pay', amount) }] }],
  })
  const large: ExitUnit = { steps: Array.from({ length: 3 }, () => pay(1n).steps).flat() }
  const amounts = Array.from({ length: 10 }, (_, index) => BigInt(index + 1))
  expect(await simulate([...amounts.map(pay), large])).toEqual([...amounts.map((each) => [each]), 'too_costly'])
})

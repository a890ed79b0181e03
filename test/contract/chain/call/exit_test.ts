import { beforeAll, expect, test } from 'bun:test'
import { type Address, concatHex, encodeFunctionData, type Hex, parseAbi, toHex } from 'viem'
import { executeUnits } from '../../../../src/chain/call/exit/execute.ts'
import { LENS_RUNTIME } from '../../../../src/chain/call/exit/lens_artifact.ts'
import { type ExitStep, type ExitUnit, encodeUnits, type StepOutcome } from '../../../../src/chain/call/exit/step.ts'
import { readLatestBlock } from '../../../../src/chain/evm/read_block.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { BANK, toWalletAddress } from '../../../devnet/addresses.ts'
import { ownCreationCode } from '../../../devnet/artifacts.ts'
import { createRpc, type Rpc } from '../../../devnet/rpc.ts'
import { createSend, type Send } from '../../../devnet/transaction.ts'
import { useFaultyChain } from '../../../support/endpoint.ts'
import { createTestClock, slowClock } from '../../../support/test_clock.ts'

const never = createWork(new AbortController().signal)
const MOODS = [
  'Plain',
  'Loops',
  'RevertsMebibyte',
  'ReturnsMebibyte',
  'Reenters',
  'Lies',
  'Refuses',
  'Keeps',
  'Shorts',
] as const
const ABI = parseAbi([
  'function setMood(uint8)',
  'function setLimit(uint256)',
  'function setScript(address, bytes)',
  'function mint(address, uint256)',
  'function ban(address)',
  'function pay(uint256)',
  'function settle(uint256)',
  'function limit() view returns (uint256)',
  'function self() view returns (address)',
  'function balanceOf(address) view returns (uint256)',
])
type FunctionName = (typeof ABI)[number]['name']
const encode = (functionName: FunctionName, ...args: readonly unknown[]) =>
  encodeFunctionData({ abi: ABI, functionName, args } as never)

const chain = useFaultyChain()
const wallet = toWalletAddress('leaves')
const lender = toWalletAddress('lends')
let rpc: Rpc
let send: Send
let good: Address
let bad: Address

beforeAll(async () => {
  rpc = createRpc(chain.anvil.rpcUrl)
  send = createSend(rpc)
  const receipts = await send([0, 1].map(() => ({ from: BANK, data: ownCreationCode('MoodToken') })))
  ;[good = '0x', bad = '0x'] = receipts.map(({ contractAddress }) => contractAddress as Address)
  await send([{ from: BANK, to: good, data: encode('mint', lender, 1_000n) }])
}, 60_000)

const setMood = (mood: (typeof MOODS)[number]) =>
  send([{ from: BANK, to: bad, data: encode('setMood', MOODS.indexOf(mood)) }])

/** A step in which a token pays the wallet, or takes back. */
function move(token: Address, amount: bigint, more: Partial<ExitStep> = {}): ExitStep {
  const data = amount > 0n ? encode('pay', amount) : encode('settle', -amount)
  return { tokens: [token], calls: [{ to: token, data }], ...more }
}

const MINUTE_MS = 60_000

async function execute(
  units: readonly ExitUnit[],
  { as = wallet, lenders = [lender], clock = slowClock as Clock, limitMs = MINUTE_MS } = {},
) {
  const block = await readLatestBlock(chain.endpoint, 1, never)
  const untilMs = clock.monotonicMs() + limitMs
  return await executeUnits(chain.endpoint, { wallet: as, units, lenders, block, clock, untilMs }, never)
}

/** Outcomes of the steps of each unit: what arrived of the first token, or what became of the step. */
async function outcomes(units: readonly ExitUnit[], options?: Parameters<typeof execute>[1]) {
  const { units: results } = await execute(units, options)
  const short = (step: StepOutcome) => (step.kind === 'done' ? step.deltas[0] : step.kind)
  return results.map((each) => (each.kind === 'run' ? each.steps.map(short) : each.kind))
}

test('steps run one after the other as the wallet, each is undone as a whole, and the chain does not change', async () => {
  await setMood('Plain')
  const failing: ExitStep = {
    tokens: [good],
    calls: [
      { to: good, data: encode('pay', 7n) },
      { to: good, data: encode('settle', 1_000n) },
    ],
  }
  const steps = [move(good, 50n), failing, move(good, -50n), move(good, -1n), move(good, 3n)]
  expect(await outcomes([{ steps }, { steps: [move(bad, 9n)] }])).toEqual([
    [50n, 'reverted', -50n, 'reverted', 3n],
    [9n],
  ])
  expect(BigInt(await rpc.call<Hex>('eth_call', { to: good, data: encode('balanceOf', wallet) }, 'latest'))).toBe(0n)
})

test('a fallback is tried only after a failure, and words are lowered to what a contract answers', async () => {
  await setMood('Plain')
  await send([{ from: BANK, to: good, data: encode('setLimit', 20n) }])
  const patch = { at: 4, from: good, question: encode('limit') }
  const bounded = { calls: [{ to: good, data: encode('pay', 100n), patch }], tokens: [good], isFallback: true }
  const least = { ...bounded, calls: [{ to: good, data: encode('pay', 5n), patch }] }
  const named = { tokens: [good], calls: [{ to: good, data: encode('pay', 4n), getter: encode('self') }] }
  expect(
    await outcomes([
      { steps: [move(good, 100n), bounded, bounded] },
      { steps: [move(good, 1n), bounded, least, named] },
    ]),
  ).toEqual([
    ['reverted', 20n, 'skipped'],
    [1n, 'skipped', 'skipped', 4n],
  ])
  await send([{ from: BANK, to: good, data: encode('setLimit', 2n ** 256n - 1n) }])
  const { units } = await execute([{ steps: [move(good, -5n)] }])
  expect(units).toMatchObject([
    { steps: [{ kind: 'reverted', reason: expect.stringContaining(toHex('Too little').slice(2)) }] },
  ])
})

test('loans come from the first lender that has enough and takes no part', async () => {
  const repay = move(good, -400n, { loan: { token: good, amount: 400n } })
  const { units } = await execute([{ steps: [repay, repay, move(good, 1n)] }], { lenders: [BANK, lender] })
  const lent = { kind: 'done', deltas: [0n], lent: { lender, amount: 400n } }
  expect(units).toMatchObject([{ steps: [lent, lent, { kind: 'done', deltas: [1n] }] }])
})

test('only money that no contract lends is made up, and nothing else of the wallet changes', async () => {
  await setMood('Plain')
  const loan = { token: good, amount: 400n }
  const repay = move(good, -400n, { loan })
  const units = [{ steps: [repay, repay, repay, repay, move(good, 1n)] }, { steps: [repay], parties: [lender] }]
  // What the wallet has is no loan.
  await send([{ from: BANK, to: good, data: encode('mint', wallet, 50_000n) }])
  const made = await execute(units)
  await send([{ from: wallet, to: good, data: encode('settle', 50_000n) }])
  const [donor = '0x'] = made.units.flatMap((each) => (each.kind === 'run' ? [...each.made] : []))
  const lent = { kind: 'done', deltas: [0n], lent: { lender, amount: 400n } }
  const given = { kind: 'done', deltas: [0n], lent: { lender: donor, amount: 400n } }
  expect(made.units).toMatchObject([
    { steps: [lent, lent, given, given, { kind: 'done', deltas: [1n] }] },
    { steps: [given] },
  ])
  const banned = toWalletAddress('banned')
  await send([{ from: BANK, to: good, data: encode('ban', banned) }])
  const { units: refused } = await execute([{ steps: [repay], parties: [lender] }], { as: banned })
  expect(refused).toMatchObject([
    { steps: [{ kind: 'unfunded', reason: expect.stringContaining(toHex('Banned').slice(2)) }] },
  ])
})

test('what a lender pays short is undone, so that no two lenders pay for one loan', async () => {
  await setMood('Shorts')
  const lenders = [toWalletAddress('lends first'), toWalletAddress('lends next')]
  await send(lenders.map((each) => ({ from: BANK, to: bad, data: encode('mint', each, 1_000n) })))
  expect(await outcomes([{ steps: [move(bad, -390n, { loan: { token: bad, amount: 400n } })] }], { lenders })).toEqual([
    ['unfunded'],
  ])
})

for (const mood of ['Loops', 'RevertsMebibyte', 'ReturnsMebibyte', 'Refuses', 'Keeps', 'Lies'] as const) {
  test(`a token that ${mood} changes no figure but its own`, async () => {
    await setMood(mood)
    const expected: Readonly<Record<typeof mood, 'too_costly' | 'reverted' | bigint>> = {
      Loops: 'too_costly',
      RevertsMebibyte: 'too_costly',
      ReturnsMebibyte: 'too_costly',
      Refuses: 'reverted',
      Keeps: 0n,
      Lies: 6n,
    }
    const units = [
      { steps: [move(good, 2n)] },
      { steps: [move(bad, 6n)], suspects: [bad] },
      { steps: [move(good, 3n)] },
    ]
    expect(await outcomes(units)).toEqual([[2n], [expected[mood]], [3n]])
  })
}

test('a loop deep in frames is told from a refusal there', async () => {
  const LOOPS: Hex = '0x5b600056'
  const REFUSES: Hex = '0x5f5ffd'
  for (const [end, outcome] of [
    [LOOPS, 'too_costly'],
    [REFUSES, 'reverted'],
  ] as const) {
    let [code, to]: [Hex, Address] = [end, toWalletAddress('a frame')]
    for (let frame = 0; frame < 16; frame++) {
      await rpc.call('anvil_setCode', to, code)
      // Calls the frame before with all gas, and reverts if that does.
      code = concatHex(['0x5f5f5f5f5f73', to, '0x5af11560215700', '0x5b5f5ffd'])
      to = toWalletAddress(`frame ${frame}`)
    }
    await rpc.call('anvil_setCode', to, code)
    expect(await outcomes([{ steps: [{ tokens: [], calls: [{ to, data: '0x' }] }] }])).toEqual([[outcome]])
  }
})

test('a contract that used up the gas of two steps gets less of it on later pages', async () => {
  await setMood('Loops')
  const hostile = Array.from({ length: 60 }, () => ({ steps: [move(bad, 1n)], suspects: [bad] }))
  const all = await outcomes([{ steps: [move(good, 2n)] }, ...hostile, { steps: [move(good, 3n)] }])
  expect([all[0], all.at(-1)]).toEqual([[2n], [3n]])
  expect(new Set(all.slice(1, -1).flat())).toEqual(new Set(['too_costly', 'suspected']))
  expect(all.flat().filter((each) => each === 'suspected').length).toBeGreaterThan(30)
})

for (const [name, toSuspects] of [
  ['one contract', () => [toWalletAddress('hostile')]],
  ['contracts of their own', (index: number) => [toWalletAddress(`hostile ${index}`)]],
  ['two contracts, one of them honest', (index: number) => [good, toWalletAddress(`hostile ${index % 3}`)]],
] as const) {
  test(`61 hostile units of ${name} cost no honest one its own, whatever that depends on`, async () => {
    await setMood('Loops')
    const hostile = Array.from({ length: 61 }, (_, index): ExitUnit => {
      return { steps: [move(bad, 1n), move(bad, 2n, { isFallback: true })], suspects: toSuspects(index) }
    })
    const honest = [[good], toSuspects(0), [...toSuspects(0), good]].map((suspects): ExitUnit => {
      return { steps: [move(good, 5n)], suspects }
    })
    let calls = 0
    chain.rpc.rule(({ method }) => {
      if (method === 'eth_call') calls++
      return undefined
    })
    const tried = await outcomes([...hostile, ...honest, { steps: [move(good, 7n)] }])
    expect(tried.slice(61)).toEqual([[5n], [5n], [5n], [7n]])
    const counts = new Map<string, number>()
    for (const kind of tried.slice(0, 61).flat()) counts.set(String(kind), (counts.get(String(kind)) ?? 0) + 1)
    expect([...counts.keys()].sort()).toEqual(['suspected', 'too_costly'])
    // None that is struck twice gets a full chance again, and all of them are asked in few calls.
    expect(counts.get('too_costly')).toBeLessThanOrEqual(2 * 25)
    expect(calls).toBeLessThanOrEqual(10)
  })
}

test('what is done when the time is over is answered, and the rest is told as not tried', async () => {
  await setMood('Plain')
  const pay = { steps: [move(good, 2n)] }
  const repay = { steps: [move(good, -400n, { loan: { token: good, amount: 400n } })] }
  for (const { units, pages, done, limitMs = MINUTE_MS } of [
    { units: Array<ExitUnit>(60).fill(pay), pages: 1, done: 25 },
    { units: Array<ExitUnit>(6).fill(repay), pages: 0, done: 0 },
    { units: [pay, repay], pages: 0, done: 0, limitMs: 0 },
  ]) {
    const clock = createTestClock()
    let calls = 0
    chain.rpc.rule(({ method, params: [call] }) => {
      const isCode = (call as { readonly data?: string }).data?.length === encodeUnits(wallet, []).length
      if (method !== 'eth_call' || isCode || ++calls <= pages) return undefined
      void clock.advance(MINUTE_MS)
      return { kind: 'hang' }
    })
    const { units: results, hasOwnCode } = await execute(units, { clock, limitMs })
    const late = { kind: 'too_costly', isLate: true }
    expect(results).toMatchObject(
      units.map((_, index) => (index < done ? { kind: 'run', steps: [{ kind: 'done' }] } : late)),
    )
    expect(hasOwnCode).toBeFalse()
    if (limitMs === 0) expect(calls).toBe(0)
  }
})

test('a contract that re-enters is answered as an account without code would, also with the code of the lens', async () => {
  await setMood('Reenters')
  const copy = toWalletAddress('copies')
  await rpc.call('anvil_setCode', copy, LENS_RUNTIME)
  const theft = encodeUnits(wallet, [{ steps: [move(good, -2n)] }])
  const step = `0x${theft.slice(2 + 2 * 43)}` as const
  for (const [accomplice, script] of [
    [wallet, theft],
    [wallet, step],
    [wallet, encode('balanceOf', wallet)],
    [wallet, '0x'],
  ] as const) {
    await send([{ from: BANK, to: bad, data: encode('setScript', accomplice, script) }])
    expect(await outcomes([{ steps: [move(good, 2n), move(bad, 6n), move(good, -2n)] }])).toEqual([[2n, 6n, -2n]])
  }
  await send([{ from: BANK, to: bad, data: encode('setScript', copy, theft) }])
  const [unit] = await outcomes([{ steps: [move(good, 2n), move(bad, 6n), move(good, -2n)] }])
  // The copy answers its caller, and asked the wallet in vain.
  expect(unit).toEqual([2n, 'reverted', -2n])
  // A copy that asks a lender for its tokens is not paid.
  const request = concatHex([lender, '0x01', good, toHex(7n, { size: 32 })])
  const seen = {
    to: good,
    data: encode('pay', 100n),
    patch: { at: 4, from: good, question: encode('balanceOf', copy) },
  }
  const loan = { token: good, amount: 5n }
  const paid = { tokens: [good], calls: [{ to: copy, data: request }, seen], loan }
  expect(await outcomes([{ steps: [paid] }])).toEqual([[5n]])
})

test('a wallet with code of its own is told, and one that takes part itself is not tried', async () => {
  await setMood('Plain')
  const steps = [move(good, 2n)]
  expect(await execute([{ steps }])).toMatchObject({ hasOwnCode: false })
  const [receipt] = await send([{ from: BANK, data: ownCreationCode('Actor') }])
  const contract = receipt?.contractAddress as Address
  expect(await execute([{ steps }], { as: contract })).toMatchObject({ hasOwnCode: true, units: [{ kind: 'run' }] })
  expect(await outcomes([{ steps }, { steps: [move(bad, 2n)] }], { as: good })).toEqual(['unsupported', [2n]])
})

test('an endpoint that ignores or refuses overrides is refused', async () => {
  for (const how of ['ignore', 'refuse'] as const) {
    chain.rpc.rule(() => ({ kind: 'no_overrides', how }))
    await expect(execute([{ steps: [move(good, 2n)] }])).rejects.toThrow(/runs no lens|override/)
  }
})

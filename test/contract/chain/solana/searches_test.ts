import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { base58 } from '@scure/base'
import { createSolanaClient, type SolanaClient } from '../../../../src/chain/solana/client.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import { createLog } from '../../../../src/lib/log.ts'
import { KLEND, type ServedAccounts, toFakeAddress, toServedAccount } from '../../../support/kamino.ts'
import { type Fault, type SolanaDouble, startSolanaDouble } from '../../../support/solana.ts'
import { TOKEN, TOKEN_2022, tokenAccountBytes } from '../../../support/solana_token.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

const NEVER = createWork(new AbortController().signal)
const WALLET = toFakeAddress('wallet')
const OTHER = toFakeAddress('another wallet')
const [MINT_A, MINT_B] = [toFakeAddress('mint A'), toFakeAddress('mint B')]
const LIST = 'getTokenAccountsByOwner'
const SEARCH = 'getProgramAccounts'

const first = startSolanaDouble()
const second = startSolanaDouble()
let lines: string[] = []
/** Added to the time since the start, to make time pass. */
let passedMs = 0

const holdings: ServedAccounts = {
  [MINT_A]: toServedAccount(new Uint8Array(82), TOKEN),
  [toFakeAddress('one')]: toServedAccount(tokenAccountBytes({ mint: MINT_A, owner: WALLET, amount: 7n }), TOKEN),
  [toFakeAddress('none left')]: toServedAccount(tokenAccountBytes({ mint: MINT_B, owner: WALLET, amount: 0n }), TOKEN),
  [toFakeAddress('new')]: toServedAccount(
    tokenAccountBytes({ mint: MINT_B, owner: WALLET, amount: 1n, state: 2, isExtended: true }),
    TOKEN_2022,
  ),
  [toFakeAddress('not mine')]: toServedAccount(tokenAccountBytes({ mint: MINT_A, owner: OTHER }), TOKEN),
}

beforeEach(() => {
  lines = []
  passedMs = 0
  for (const double of [first, second]) {
    double.accounts = holdings
    double.slot = 1000
    double.always = undefined
    double.ofMethod.clear()
    double.seen.length = 0
    double.faults.length = 0
  }
})

afterEach(() => {
  expect(lines.join()).not.toMatch(/solana-secret|127\.0\.0\.1|upstream text/)
})

afterAll(async () => {
  await Promise.all([first.stop(), second.stop()])
}, 60_000)

function client(...doubles: readonly SolanaDouble[]): SolanaClient {
  return createSolanaClient({
    rpcUrls: doubles.map(({ url }) => url),
    maxSlotAgeSec: 60,
    slotMs: 400,
    // No endpoint is slow, however busy the machine.
    clock: { ...systemClock, monotonicMs: () => passedMs },
    log: createLog({ level: 'debug', write: (line) => lines.push(line), clock: createFixedClock() }),
    random: () => 0,
  })
}

function list(solana: SolanaClient, of: { program: string } | { mint: string } = { program: TOKEN }) {
  return solana.read((session) => session.tokenAccounts(WALLET, of), { work: NEVER })
}

function search(solana: SolanaClient, owner = WALLET) {
  const asked = { program: TOKEN, size: 165, holds: [{ at: 32, bytes: base58.decode(owner) }] }
  return solana.read((session) => session.programAccounts(asked), { work: NEVER })
}

function readOne(solana: SolanaClient) {
  return solana.read((session) => session.accounts([MINT_A]), { work: NEVER })
}

async function captureFailure(promise: Promise<unknown>): Promise<Error> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof UpstreamError)) throw new Error(`Expected the read to fail upstream, not ${String(error)}`)
  expect(`${error.message} ${error.stack}`).not.toMatch(/solana-secret|upstream text|127\.0\.0\.1/)
  return error
}

describe('tokenAccounts()', () => {
  test('lists those of one program, empty ones too, and of each no more than its first bytes', async () => {
    const { slot, accounts } = await list(client(first))
    expect(slot).toBe(1000n)
    expect(accounts).toEqual([
      { address: toFakeAddress('one'), program: TOKEN, mint: MINT_A, owner: WALLET, amount: 7n, isFrozen: false },
      { address: toFakeAddress('none left'), program: TOKEN, mint: MINT_B, owner: WALLET, amount: 0n, isFrozen: false },
    ])
    expect(first.seen).toMatchObject([{ method: LIST, addresses: [WALLET], filter: { programId: TOKEN } }])
  })

  test('lists frozen ones of the second program', async () => {
    const { accounts } = await list(client(first), { program: TOKEN_2022 })
    expect(accounts).toMatchObject([{ program: TOKEN_2022, mint: MINT_B, isFrozen: true }])
  })

  test('lists those of one mint', async () => {
    expect((await list(client(first), { mint: MINT_A })).accounts.map(({ amount }) => amount)).toEqual([7n])
  })

  test('requests a minimum slot, and refuses an older one', async () => {
    const solana = client(first)
    const asked = { work: NEVER }
    await solana.read((session) => session.tokenAccounts(WALLET, { mint: MINT_A }, { minSlot: 1000n }), asked)
    expect(first.seen[0]?.minContextSlot).toBe(1000)
    first.always = withSlot(999)
    await captureFailure(
      solana.read((session) => session.tokenAccounts(WALLET, { mint: MINT_A }, { minSlot: 1000n }), asked),
    )
  })
})

describe('programAccounts()', () => {
  test('finds accounts by their size and bytes', async () => {
    const { accounts } = await search(client(first))
    expect(accounts.map(({ address }) => address)).toEqual([toFakeAddress('one'), toFakeAddress('none left')])
    expect(accounts[0]?.data.length).toBe(165)
    const filter = [{ dataSize: 165 }, { memcmp: { offset: 32, bytes: WALLET } }]
    expect(first.seen).toMatchObject([{ method: SEARCH, addresses: [TOKEN], filter }])
  })
})

/** The honest answer with another list of accounts. */
function withRows(change: (rows: readonly unknown[]) => unknown): Fault {
  return {
    kind: 'reply',
    change: (reply) => ({ ...reply, result: { ...reply.result, value: change(reply.result.value) } }),
  }
}

function withSlot(slot: unknown): Fault {
  return { kind: 'reply', change: (reply) => ({ ...reply, result: { ...reply.result, context: { slot } } }) }
}

function row(data: Uint8Array, { owner = TOKEN, pubkey = toFakeAddress('row') } = {}) {
  const account = { owner, lamports: 1, data: [Buffer.from(data).toString('base64'), 'base64'] }
  return { pubkey, account }
}

const honestRow = tokenAccountBytes({ mint: MINT_A, owner: WALLET })

describe('an answer that cannot be right counts as a failure of its endpoint, and the next one is asked', () => {
  test.each([
    ['accounts of another wallet', [row(tokenAccountBytes({ mint: MINT_A, owner: OTHER }).subarray(0, 109))]],
    ['accounts of another program', [row(honestRow.subarray(0, 109), { owner: KLEND })]],
    ['accounts cut short', [row(honestRow.subarray(0, 108))]],
    ['accounts that were never begun', [row(tokenAccountBytes({ mint: MINT_A, owner: WALLET, state: 0 }))]],
    ['one account twice', [row(honestRow), row(honestRow)]],
    ['no address', [row(honestRow, { pubkey: 'x' })]],
    ['rows that are none', [null]],
    ['no list', {}],
  ])('%s', async (_, rows) => {
    first.ofMethod.set(
      LIST,
      withRows(() => rows),
    )
    const solana = client(first, second)
    expect((await list(solana)).accounts.length).toBe(2)
    expect(solana.report()[0]?.state).toBe('doubtful')
    await captureFailure(list(client(first)))
  })

  test.each([
    ['accounts of another owner', [row(tokenAccountBytes({ mint: MINT_A, owner: OTHER }))]],
    ['accounts of another program', [row(honestRow, { owner: KLEND })]],
    ['accounts of another size', [row(honestRow.subarray(1))]],
  ])('%s in a search', async (_, rows) => {
    first.ofMethod.set(
      SEARCH,
      withRows(() => rows),
    )
    const solana = client(first, second)
    expect((await search(solana)).accounts.length).toBe(2)
    expect(solana.report()[0]?.state).toBe('doubtful')
  })
})

const DIALECTS: readonly (readonly [string, Fault])[] = [
  ['HTTP 410', { kind: 'http', status: 410 }],
  ['HTTP 403', { kind: 'http', status: 403 }],
  ['410 in the body, "disabled"', { kind: 'rpc', code: 410, message: 'The method is disabled, see upstream text' }],
  ['403 in the body', { kind: 'rpc', code: 403 }],
  ['-32601', { kind: 'rpc', code: -32601 }],
  ['-32010, excluded from the index', { kind: 'rpc', code: -32010 }],
]

describe('a refused search', () => {
  test.each(DIALECTS)(
    '%s does not affect the endpoint’s health, and is remembered for ten minutes',
    async (_, fault) => {
      first.ofMethod.set(SEARCH, fault)
      const solana = client(first, second)
      for (let times = 0; times < 3; times++) expect((await search(solana)).accounts.length).toBe(2)
      expect(first.seen.map(({ method }) => method)).toEqual([SEARCH])
      expect(solana.report()[0]?.state).toBe('ready')
      expect(solana.getCapabilities(TOKEN).map(({ searchesProgram }) => searchesProgram)).toEqual([false, true])
      // Everything else stays there.
      await readOne(solana)
      await list(solana)
      expect(first.seen.length).toBe(3)
      expect(lines.filter((line) => line.includes('Lost'))).toEqual([])
      passedMs += 600_000
      first.ofMethod.clear()
      await search(solana)
      expect(first.seen.length).toBe(4)
    },
  )

  test.each(DIALECTS)('%s by all endpoints says what to do, and the next time without a request', async (_, fault) => {
    first.ofMethod.set(SEARCH, fault)
    const solana = client(first)
    for (let times = 0; times < 2; times++) {
      const error = await captureFailure(search(solana))
      expect(error).toMatchObject({ fault: 'unsupported' })
      expect(error.message).toBe(
        "Cannot read Solana: no endpoint searches a program's accounts: set SOLANA_RPC_URL to one that does",
      )
    }
    expect(first.seen.length).toBe(1)
  })

  test('of one program does not affect another', async () => {
    first.ofMethod.set(SEARCH, { kind: 'rpc', code: -32010 })
    const solana = client(first)
    await captureFailure(search(solana))
    first.ofMethod.clear()
    const other = { program: TOKEN_2022, size: 170, holds: [] }
    expect((await solana.read((session) => session.programAccounts(other), { work: NEVER })).accounts.length).toBe(1)
    expect(solana.getCapabilities(TOKEN_2022)).toEqual([{ listsTokenAccounts: undefined, searchesProgram: true }])
  })
})

describe('a refused list', () => {
  test.each(DIALECTS.slice(0, 5))('%s by all endpoints says what to do', async (_, fault) => {
    first.ofMethod.set(LIST, fault)
    second.ofMethod.set(LIST, fault)
    const solana = client(first, second)
    const error = await captureFailure(list(solana))
    expect(error.message).toBe(
      "Cannot read Solana: no endpoint lists a wallet's token accounts: set SOLANA_RPC_URL to one that does",
    )
    await captureFailure(list(solana))
    expect([first.seen.length, second.seen.length]).toEqual([1, 1])
    expect(solana.report().map(({ state }) => state)).toEqual(['ready', 'ready'])
  })

  test.each([
    ['a mint that there is not', { kind: 'rpc', code: -32602 }],
    ['a wallet that is not in the index', { kind: 'rpc', code: -32010 }],
  ] as const)('of %s is about that one alone', async (_, fault) => {
    first.ofMethod.set(LIST, fault)
    const solana = client(first)
    expect(await captureFailure(list(solana))).not.toMatchObject({ fault: 'unsupported' })
    first.ofMethod.clear()
    expect((await list(solana)).accounts.length).toBe(2)
    expect(solana.report()[0]?.state).toBe('ready')
  })
})

test('a list of more than 8 MB does not affect health, is requested once per endpoint, and is named in the error', async () => {
  const many = { kind: 'text', change: () => `{"jsonrpc":"2.0","id":1,"result":"${'x'.repeat(9_000_000)}"}` } as const
  first.ofMethod.set(LIST, many)
  second.ofMethod.set(LIST, many)
  const solana = client(first, second)
  const error = await captureFailure(list(solana))
  expect(error.message).toBe("Cannot read Solana: the wallet's token accounts are too many to be read")
  expect([first.seen.length, second.seen.length]).toEqual([1, 1])
  expect(solana.report().map(({ state }) => state)).toEqual(['ready', 'ready'])
})

test('a search has three seconds, longer than a read of accounts', async () => {
  first.ofMethod.set(LIST, { kind: 'late', ms: 1_500 })
  expect((await list(client(first))).accounts.length).toBe(2)
  first.ofMethod.set('getMultipleAccounts', { kind: 'late', ms: 1_500 })
  await captureFailure(readOne(client(first)))
})

test('a rate limit of a list is waited for, and is no refusal', async () => {
  first.faults.push({ kind: 'rpc', code: 429 })
  const solana = client(first)
  expect((await list(solana)).accounts.length).toBe(2)
  expect(solana.getCapabilities(TOKEN)[0]?.listsTokenAccounts).toBe(true)
})

describe('grouped()', () => {
  const addresses = Array.from({ length: 250 }, (_, index) => toFakeAddress(`account ${index}`))
  /** Every account holds the slot in which it was read. */
  const dated = (slot: number): ServedAccounts =>
    Object.fromEntries(addresses.map((address) => [address, toServedAccount(Uint8Array.of(slot % 256))]))

  function grouped(items: readonly (readonly string[])[], minSlot?: bigint) {
    const options = minSlot === undefined ? {} : { minSlot }
    return client(first).read((session) => session.grouped(items, options), { work: NEVER })
  }

  /** 50 items of five addresses. */
  const items = Array.from({ length: 50 }, (_, index) => addresses.slice(5 * index, 5 * index + 5))

  test('reads any number of accounts at one slot, and splits no item', async () => {
    first.accounts = dated
    const groups = await grouped(items)
    expect(groups.length).toBe(50)
    for (const [index, { slot, accounts }] of groups.entries()) {
      expect(slot).toBe(1000n)
      for (const address of items[index] ?? []) expect(accounts.get(address)?.data).toEqual(Uint8Array.of(1000 % 256))
    }
    // 19 items of five fit one request with the clock.
    expect(first.seen.map((each) => each.addresses.length)).toEqual([96, 96, 61])
  })

  test('asks for an address of several items once in a request', async () => {
    await grouped(items.map((item) => [toFakeAddress('shared'), ...item]))
    expect(first.seen.map((each) => each.addresses.length)).toEqual([97, 97, 62])
  })

  test('retries groups of an older slot twice, and then returns the slot of each', async () => {
    first.accounts = dated
    first.slotsPerRead = 1
    const groups = await grouped(items)
    first.slotsPerRead = 0
    // Three at once, then the two older ones, then the one that is older now.
    expect(first.seen.length).toBe(3 + 2 + 2)
    for (const { slot, accounts } of groups) {
      for (const account of accounts.values()) expect(account?.data).toEqual(Uint8Array.of(Number(slot) % 256))
    }
    const slots = new Set(groups.map(({ slot }) => slot))
    expect(slots.size).toBeGreaterThan(1)
    expect([...first.seen.slice(3)].every(({ minContextSlot }) => (minContextSlot ?? 0) > 1000)).toBe(true)
  })

  test('refuses an item too large for a request, and sends no request for no items', async () => {
    await expect(grouped([addresses.slice(0, 100)])).rejects.toThrow(RangeError)
    expect(await grouped([])).toEqual([])
    expect(first.seen).toEqual([])
  })

  test('waits for a slot that the node has not reached, which does not affect its health', async () => {
    first.faults.push({ kind: 'rpc', code: -32016 })
    const solana = client(first)
    await solana.read((session) => session.grouped([[MINT_A]], { minSlot: 1000n }), { work: NEVER })
    expect([first.seen.length, solana.report()[0]?.state]).toEqual([2, 'ready'])
    expect(lines).toEqual([])
  })
})

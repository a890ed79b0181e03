import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import {
  deriveBundleAddress,
  deriveBundledPositionAddress,
  derivePositionAddress,
} from '../../../../src/family/orca_whirlpool/read/account_cache.ts'
import { orcaStage } from '../../../support/family/orca_whirlpool/stage.ts'
import { type ServedAccounts, toFakeAddress, toServedAccount } from '../../../support/kamino.ts'
import { bundleBytes, WHIRLPOOL } from '../../../support/orca.ts'
import { type OrcaCase, orcaAccounts, orcaCase, orcaPositionBytes } from '../../../support/orca_vectors.ts'
import { countSequentialRequests, startSolanaDouble } from '../../../support/solana.ts'
import { mintBytes, TOKEN, TOKEN_2022, tokenAccountBytes } from '../../../support/solana_token.ts'
import { createPatientClock } from '../../../support/test_clock.ts'

const WALLET = toFakeAddress('wallet of all')
const SLOT = 432_000 * 925 + 7
const double = startSolanaDouble()
/** Time passes only as a test says, so that no slot passes between the requests of a slow machine. */
const createStage = () => orcaStage([double], { clock: createPatientClock() })
let stage = createStage()

beforeEach(() => {
  stage = createStage()
  double.accounts = {}
  double.slot = SLOT
  double.slotsPerRead = 0
  double.answersTogether = true
  double.always = undefined
  double.ofMethod.clear()
  double.faults.length = 0
  double.seen.length = 0
})

afterEach(() => {
  expect(stage.lines.join()).not.toMatch(/solana-secret|127\.0\.0\.1|upstream text/)
  stage.solana.close()
})

afterAll(() => double.stop(), 60_000)

/** States of one wallet, whose rewards were counted a minute ago. */
function owned(names: readonly string[]): ServedAccounts {
  const rewardsUpdatedAt = String(Math.floor(Date.now() / 1_000) - 60)
  return Object.assign(
    {},
    ...names.map((name) => {
      const state = orcaCase(name)
      return orcaAccounts({ ...state, wallet: WALLET, pool: { ...state.pool, rewardsUpdatedAt } })
    }),
  )
}

const PLAIN = ['edge/in-range', 'edge/in-range-dynamic', 'edge/taxed', 'edge/splash']
const BUNDLED = 'edge/mixed-arrays'

/** Foreign tokens of one unit, the same number of each token program. */
function foreign(count: number): ServedAccounts {
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => {
      const data = tokenAccountBytes({ mint: toFakeAddress(`picture ${index}`), owner: WALLET })
      return [toFakeAddress(`account of picture ${index}`), toServedAccount(data, index % 2 === 0 ? TOKEN : TOKEN_2022)]
    }),
  )
}

async function ids(query: object = {}): Promise<readonly string[]> {
  const { reply, message } = await stage.list({ wallet: WALLET, limit: 25, ...query })
  if (reply === undefined) throw new Error(message)
  return (reply.data as { readonly token_id: string }[]).map(({ token_id }) => token_id)
}

/** Requests again, and counts sequential and all requests. */
async function asked(ask: () => Promise<unknown>): Promise<{ readonly row: number; readonly count: number }> {
  stage.pass()
  double.seen.length = 0
  await ask()
  return { row: countSequentialRequests(double), count: double.seen.length }
}

describe.each([{ full: false }, { full: true }])('requests in a row, full=$full', (query) => {
  test('a wallet that was never read: four, and three if its pools are cached', async () => {
    double.accounts = owned(['edge/in-range', 'edge/in-range-dynamic'])
    expect((await asked(() => ids(query))).row).toBe(4)
    const other = toFakeAddress('another wallet')
    // Another position in one of these pools.
    const { addresses, ...state } = orcaCase('edge/in-range')
    const positionMint = toFakeAddress('another mint')
    const position = derivePositionAddress(WHIRLPOOL, positionMint)
    const moved = { ...addresses, positionMint, position, nftAccount: toFakeAddress('another account') }
    const { [addresses.pool]: pool, ...rest } = orcaAccounts({ ...state, addresses: moved, wallet: other })
    expect(pool).toBeDefined()
    double.accounts = { ...rest, ...(double.accounts as ServedAccounts) }
    const askOther = async () => {
      const { reply } = await stage.list({ wallet: other, ...query })
      expect(reply?.data).toMatchObject([{ token_id: positionMint }])
    }
    expect((await asked(askOther)).row).toBe(3)
  })

  test('one more with a bundle', async () => {
    double.accounts = owned(['edge/in-range', BUNDLED])
    expect((await asked(() => ids(query))).row).toBe(5)
  })

  test('a wallet that was read before: one, even if it was empty', async () => {
    double.accounts = { ...owned([...PLAIN, BUNDLED]), ...foreign(30) }
    const all = await ids(query)
    for (let times = 0; times < 3; times++) {
      const { row } = await asked(async () => expect(await ids(query)).toEqual(all))
      expect(row).toBe(1)
    }
    double.accounts = {}
    await asked(() => ids(query))
    expect((await asked(() => ids(query))).row).toBe(1)
  })

  test('a single position that was never read: at most three; read before: one', async () => {
    double.accounts = owned([...PLAIN, BUNDLED])
    for (const name of [...PLAIN, BUNDLED]) {
      const { tokenId, addresses } = orcaCase(name)
      for (const id of new Set([tokenId, addresses.position])) {
        stage.solana.close()
        stage = createStage()
        const ask = async () => expect((await stage.single(id, { wallet: WALLET, full: query.full })).status).toBe(200)
        expect((await asked(ask)).row).toBeLessThanOrEqual(3)
        expect(await asked(ask)).toEqual({ row: 1, count: 1 })
      }
    }
  })
})

describe('the list', () => {
  test('finds positions among 500 foreign tokens, and looks up each token only once', async () => {
    double.accounts = { ...owned([...PLAIN, BUNDLED]), ...foreign(500) }
    const derived = new Set<string>()
    for (let index = 0; index < 500; index++) {
      derived.add(derivePositionAddress(WHIRLPOOL, toFakeAddress(`picture ${index}`)))
    }
    const askedAbout = () => double.seen.flatMap(({ addresses }) => addresses).filter((each) => derived.has(each))
    expect((await ids()).length).toBe(5)
    expect(askedAbout().length).toBe(500)
    await asked(() => ids())
    await asked(() => ids({ status: 'inactive' }))
    expect(askedAbout()).toEqual([])
    // Only a new token is looked up.
    double.accounts = { ...(double.accounts as ServedAccounts), ...foreign(501) }
    await asked(() => ids())
    expect(double.seen.flatMap(({ addresses }) => addresses)).toContain(
      derivePositionAddress(WHIRLPOOL, toFakeAddress('picture 500')),
    )
    expect(askedAbout()).toEqual([])
  }, 30_000)

  test('finds tokens in an unusual account, delegated, or frozen, which is locked', async () => {
    const [moved, locked] = [orcaCase('edge/in-range'), orcaCase('edge/locked')]
    const { [moved.addresses.nftAccount]: _, ...rest } = owned(['edge/in-range', 'edge/locked'])
    const data = tokenAccountBytes({ mint: moved.tokenId, owner: WALLET, delegate: toFakeAddress('delegate') })
    double.accounts = { ...rest, [toFakeAddress('another account')]: toServedAccount(data, TOKEN) }
    const { reply } = await stage.list({ wallet: WALLET })
    if (reply === undefined) throw new Error('Expected a list')
    const byId = new Map(
      (reply.data as { token_id: string; locked: boolean }[]).map((each) => [each.token_id, each.locked]),
    )
    expect([...byId].sort()).toEqual(
      [
        [moved.tokenId, false],
        [locked.tokenId, true],
      ].sort() as [string, boolean][],
    )
  })

  test('leaves out tokens that were sold, or held in an amount of zero or two', async () => {
    const { nftAccount, positionMint: mint } = orcaCase('edge/in-range').addresses
    double.accounts = owned(['edge/in-range'])
    expect((await ids()).length).toBe(1)
    for (const amount of [0n, 2n]) {
      double.accounts = {
        ...owned(['edge/in-range']),
        [nftAccount]: toServedAccount(tokenAccountBytes({ mint, owner: WALLET, amount }), TOKEN),
      }
      await asked(async () => expect(await ids()).toEqual([]))
    }
    double.accounts = {
      ...owned(['edge/in-range']),
      [nftAccount]: toServedAccount(tokenAccountBytes({ mint, owner: toFakeAddress('buyer') }), TOKEN),
    }
    await asked(async () => expect(await ids()).toEqual([]))
  })

  test('drops a position that was closed', async () => {
    double.accounts = owned(['edge/in-range', 'edge/taxed'])
    expect((await ids()).length).toBe(2)
    const {
      [orcaCase('edge/taxed').addresses.position]: _,
      [orcaCase('edge/taxed').addresses.nftAccount]: __,
      ...rest
    } = double.accounts as ServedAccounts
    double.accounts = rest
    await asked(async () => expect(await ids()).toEqual([orcaCase('edge/in-range').tokenId]))
  })

  test('finds a position of a bundle that was opened later', async () => {
    const state = orcaCase(BUNDLED)
    double.accounts = owned([BUNDLED])
    expect((await ids()).length).toBe(1)
    const { bundle, positionMint: mint, position } = state.addresses
    const added = deriveBundledPositionAddress(WHIRLPOOL, mint, 255)
    const accounts = double.accounts as ServedAccounts
    const copied = accounts[position]
    if (copied === undefined || bundle === null) throw new Error('Expected a bundled position')
    double.accounts = {
      ...accounts,
      [added]: copied,
      [bundle]: toServedAccount(bundleBytes({ mint, places: [state.bundleIndex ?? 0, 255] }), WHIRLPOOL),
    }
    await asked(async () => expect([...(await ids())].sort()).toEqual([position, added].sort()))
  })

  test('has 2,000 positions, and counts what others gave the wallet beyond them', async () => {
    const state = orcaCase(BUNDLED)
    const accounts: Record<string, ServedAccounts[string]> = owned([BUNDLED])
    const places = Array.from({ length: 256 }, (_, place) => place)
    for (let count = 0; count < 8; count++) {
      const positionMint = toFakeAddress(`bundle ${count}`)
      const position = orcaPositionBytes({ ...state, addresses: { ...state.addresses, positionMint } })
      for (const place of places) {
        accounts[deriveBundledPositionAddress(WHIRLPOOL, positionMint, place)] = toServedAccount(position, WHIRLPOOL)
      }
      accounts[deriveBundleAddress(WHIRLPOOL, positionMint)] = toServedAccount(
        bundleBytes({ mint: positionMint, places }),
        WHIRLPOOL,
      )
      const token = tokenAccountBytes({ mint: positionMint, owner: WALLET })
      accounts[toFakeAddress(`account of bundle ${count}`)] = toServedAccount(token, TOKEN)
      accounts[positionMint] = toServedAccount(mintBytes({ decimals: 0 }), TOKEN)
    }
    double.accounts = accounts
    double.answersTogether = false
    const { reply, message } = await stage.list({ wallet: WALLET, limit: 25 })
    expect(message).toBeUndefined()
    expect(reply?.counts).toMatchObject({ totalActive: 2_000, total: 2_000, errors: 49 })
    expect(reply?.pagination).toMatchObject({ total: 2_000 })
  })

  test('finds nothing at an address that only received SOL', async () => {
    const mint = toFakeAddress('picture')
    const address = derivePositionAddress(WHIRLPOOL, mint)
    double.accounts = {
      [toFakeAddress('account')]: toServedAccount(tokenAccountBytes({ mint, owner: WALLET }), TOKEN_2022),
      [address]: toServedAccount(new Uint8Array(), '11111111111111111111111111111111'),
      [mint]: toServedAccount(mintBytes({ decimals: 0 }), TOKEN_2022),
    }
    expect(await ids()).toEqual([])
    await asked(() => ids())
    expect(double.seen.flatMap(({ addresses }) => addresses)).not.toContain(address)
  })
})

describe('an endpoint that returns wrong answers', () => {
  const state: OrcaCase = orcaCase('edge/in-range')

  /** The honest reply with the data of one account changed. */
  function withData(address: string, change: (data: Uint8Array) => Uint8Array, owner?: string): void {
    const accounts = owned(['edge/in-range'])
    const before = accounts[address]
    if (before === undefined) throw new Error('Expected the account')
    double.accounts = { ...accounts, [address]: toServedAccount(change(before.data), owner ?? before.owner) }
  }

  test.each([
    ['a pool a byte short', state.addresses.pool, (data: Uint8Array) => data.subarray(0, 652)],
    ['a position a byte short', state.addresses.position, (data: Uint8Array) => data.subarray(0, 215)],
    ['an array a byte short', state.addresses.lowerArray, (data: Uint8Array) => data.subarray(0, 9_987)],
  ])(
    '%s is 502, and the next endpoint is tried',
    async (_, address, change) => {
      withData(address, change)
      const answer = await stage.list({ wallet: WALLET, full: true })
      expect(answer).toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' })
      expect(stage.solana.report()[0]?.state).not.toBe('ready')
      const honest = startSolanaDouble({ accounts: owned(['edge/in-range']), slot: SLOT })
      const both = orcaStage([double, honest])
      expect((await both.list({ wallet: WALLET, full: true })).status).toBe(200)
      both.solana.close()
      await honest.stop()
    },
    20_000,
  )

  test('a pool from after the clock is 502', async () => {
    const later = String(Math.floor(Date.now() / 1_000) + 30)
    double.accounts = orcaAccounts({ ...state, wallet: WALLET, pool: { ...state.pool, rewardsUpdatedAt: later } })
    expect(await stage.list({ wallet: WALLET })).toMatchObject({ status: 502 })
  })

  test('a position of another program is none', async () => {
    withData(state.addresses.position, (data) => data, toFakeAddress('another program'))
    expect(await ids()).toEqual([])
    // Never cached: only the program can own the account.
    double.accounts = owned(['edge/in-range'])
    await asked(async () => expect((await ids()).length).toBe(1))
  })

  test('a list that no endpoint returns is 502, and says what to do', async () => {
    double.ofMethod.set('getTokenAccountsByOwner', { kind: 'rpc', code: 410, message: 'disabled, see upstream text' })
    expect(await stage.list({ wallet: WALLET })).toMatchObject({
      status: 502,
      message: "Cannot read Solana: no endpoint lists a wallet's token accounts: set SOLANA_RPC_URL to one that does",
    })
    expect(stage.solana.report()[0]?.state).toBe('ready')
  })

  test('a clock of a minute ago is 502', async () => {
    double.clockSec = Math.floor(Date.now() / 1_000) - 62
    double.accounts = owned(['edge/in-range'])
    expect(await stage.list({ wallet: WALLET })).toMatchObject({ status: 502 })
    double.clockSec = undefined
  })

  test('a list much older than the positions is requested again', async () => {
    double.accounts = owned(['edge/in-range'])
    double.faults.push({
      kind: 'reply',
      change: (reply) => ({ ...reply, result: { context: { slot: SLOT - 10_000 }, value: [] } }),
    })
    expect((await ids()).length).toBe(1)
  })
})

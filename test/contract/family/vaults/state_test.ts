import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address, Hex } from 'viem'
import { createHoldingsReader } from '../../../../src/family/vaults/holdings.ts'
import { VAULTS } from '../../../../src/family/vaults/mod.ts'
import { createVaultReader } from '../../../../src/family/vaults/read/read.ts'
import type { VaultEntry } from '../../../../src/family/vaults/table.ts'
import { createWatcher } from '../../../../src/family/vaults/watch.ts'
import { formatUsd } from '../../../../src/finance/figure.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import type { Rational } from '../../../../src/lib/number/rational.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { recordCall, recordFeed, recordRefusal, recordToken, toUsdFeed } from '../../../devnet/vaults/record.ts'
import { readNewestBlock } from '../../../support/forecast_watcher.ts'
import { withLensMode } from '../../../support/lens_mode.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { createCaller, type ReplayedChain, startReplayedChain, USD8 } from './support.ts'

const LIMIT_MS = 120_000
const patient = createWork(new AbortController().signal)
const [WALLET, ASSET, PLAIN, SILO, WINDOW, LIAR, LOOP, LONG, MUTE, ABSENT] = [
  ...(['wallet', 'asset', 'plain vault', 'silo', 'window', 'liar', 'loop', 'long', 'mute', 'absent'] as const),
].map(toWalletAddress) as [Address, Address, Address, Address, Address, Address, Address, Address, Address, Address]
const NOW_SEC = 1_797_700_000n
const HOUR = 3_600n
const SHARES = 7n * 10n ** 18n
const WORTH = 7_654_321n
/** Codes of hostile vaults: one that burns all gas, and one that answers a mebibyte. */
const BURN: Hex = '0x5b5f56'
const MEBIBYTE: Hex = '0x621000005ff3'

const ENTRIES: readonly VaultEntry[] = [
  ...[PLAIN, LIAR, LOOP, LONG, MUTE, ABSENT].map((address) => ({ address, kind: 'erc4626' as const })),
  { address: SILO, kind: 'silo' },
  { address: WINDOW, kind: 'window' },
]

let chain: ReplayedChain

/** A vault that tells what the wallet has, and what that is worth unless it refuses. */
function recordVault(vault: Address, worth: bigint | undefined, most: bigint) {
  return [
    ...recordToken(vault, 'VLT', 18),
    recordCall(vault, 'asset', [], ASSET),
    recordCall(vault, 'balanceOf', [WALLET], SHARES),
    worth === undefined
      ? recordRefusal(vault, 'convertToAssets', [SHARES])
      : recordCall(vault, 'convertToAssets', [SHARES], worth),
    recordCall(vault, 'maxWithdraw', [WALLET], most),
    recordCall(vault, 'paused', [], false),
    ...(vault === SILO ? [] : [recordRefusal(vault, 'cooldownDuration')]),
  ]
}

beforeAll(async () => {
  chain = await startReplayedChain([ASSET])
  await chain.place([
    ...recordToken(ASSET, 'AST', 6),
    ...recordFeed(toUsdFeed(ASSET), USD8, NOW_SEC),
    ...recordVault(PLAIN, WORTH, WORTH - 1n),
    // Its `maxWithdraw` says more than there is.
    ...recordVault(LIAR, 2n ** 256n - 1n, 2n ** 256n - 1n),
    ...recordVault(SILO, WORTH, WORTH),
    recordCall(SILO, 'cooldownDuration', [], 604_800),
    recordCall(SILO, 'cooldowns', [WALLET], [NOW_SEC + HOUR, 1_000_000n]),
    ...recordVault(WINDOW, WORTH, WORTH / 2n),
    recordCall(WINDOW, 'getStakerCooldown', [WALLET], [SHARES / 2n, Number(NOW_SEC - HOUR), Number(2n * HOUR)]),
    ...recordVault(MUTE, undefined, WORTH),
  ])
  await chain.rpc.call('anvil_setCode', LOOP, BURN)
  await chain.rpc.call('anvil_setCode', LONG, MEBIBYTE)
  await chain.mineAt(NOW_SEC)
}, LIMIT_MS)
afterAll(() => chain?.anvil.stop(), LIMIT_MS)

const createParts = (entries = ENTRIES) => ({
  clients: new Map([[1, chain.client]]),
  deployments: new Map([[1, entries]]),
  clock: slowClock,
})

test(
  'a list tells worth, what can be withdrawn and cooldowns, and which vaults do not answer',
  async () => {
    const { data, credits } = await createCaller(chain, ENTRIES).list(`wallet=${WALLET}&limit=25`)
    const rows = new Map(data.map((row) => [row.vault.address as string, row]))
    const pick = (vault: Address) => {
      const row = rows.get(vault)
      return [row?.vault.kind, row?.assets?.raw, row?.withdrawable?.raw, row?.limited_by]
    }
    expect(pick(PLAIN)).toEqual(['erc4626', String(WORTH), String(WORTH - 1n), 'liquidity'])
    expect(pick(SILO)).toEqual(['erc4626_silo', String(WORTH), '0', 'cooldown'])
    expect(pick(WINDOW)).toEqual(['erc4626_window', String(WORTH), String(WORTH / 2n), 'cooldown'])
    expect(pick(MUTE)).toEqual(['erc4626', undefined, undefined, 'liquidity'])
    expect(rows.get(SILO)?.cooldown).toEqual({
      of: 'assets',
      raw: '1000000',
      amount: '1',
      usd: '0.999000',
      until: Number(NOW_SEC + HOUR),
      window_until: null,
      is_over: false,
    })
    // 8.654321 of 0.999 US dollars.
    expect(rows.get(SILO)?.value_usd).toBe('8.645667')
    expect(rows.get(WINDOW)?.cooldown).toMatchObject({
      of: 'shares',
      raw: String(SHARES / 2n),
      until: Number(NOW_SEC - HOUR),
      window_until: Number(NOW_SEC + HOUR),
      is_over: true,
    })
    expect(rows.has(ABSENT)).toBe(false)
    for (const vault of [LOOP, LONG]) {
      expect([rows.get(vault)?.shares, rows.get(vault)?.reason]).toEqual([null, expect.stringContaining('not answer')])
    }
    // Those that do not answer cost nothing.
    expect([data.length, credits]).toEqual([7, 10])
  },
  LIMIT_MS,
)

test(
  'the rows of a portfolio are those of the list, with the silo apart, and a step takes each out',
  async () => {
    const { client } = chain
    const read = await createHoldingsReader(createVaultReader(createParts())).open(WALLET, { client }, patient)
    const holdings = await client.read(
      (endpoint, work) => {
        if (read === undefined) throw new Error('Expected vaults')
        return read({ endpoint, positionsMax: 100 }, work)
      },
      { work: patient },
    )
    const rows = holdings.rows.map(({ position, token, amount, withdrawable }) => [
      position['vault'],
      position['part'],
      token.address,
      amount,
      withdrawable?.amount,
    ])
    expect(rows).toEqual(
      expect.arrayContaining([
        [PLAIN, 'shares', ASSET, WORTH, WORTH - 1n],
        [SILO, 'shares', ASSET, WORTH, 0n],
        [SILO, 'cooldown', ASSET, 1_000_000n, 0n],
        [WINDOW, 'shares', ASSET, WORTH, WORTH / 2n],
        // What its shares are worth it does not tell.
        [MUTE, 'shares', MUTE, SHARES, undefined],
      ]),
    )
    expect(rows).toHaveLength(6)
    expect(new Set(holdings.ownTokens)).toEqual(new Set([PLAIN, LIAR, MUTE, SILO, WINDOW]))
    expect(holdings.notRead.toSorted()).toEqual(
      [LOOP, LONG].map((vault) => `vault ${vault}, which does not answer`).toSorted(),
    )
    const exits = holdings.listExits?.() ?? []
    const steps = exits.find(({ position }) => position['vault'] === SILO)?.steps ?? []
    expect(steps.map(({ parts }) => parts)).toEqual([['shares'], ['cooldown']])
    expect(exits).toHaveLength(5)
  },
  LIMIT_MS,
)

test(
  'triggers watch the figures of the list; a wallet without shares has zero, a silent vault none',
  async () => {
    const watcher = createWatcher(createParts())
    const block = await readNewestBlock(chain.rpc, 1)
    const subjects = [
      ...[PLAIN, SILO, LOOP, toWalletAddress('unlisted')].map((vault) => ({ wallet: WALLET, vault })),
      { wallet: toWalletAddress('stranger'), vault: SILO },
    ]
    await chain.place([
      recordCall(SILO, 'balanceOf', [toWalletAddress('stranger')], 0n),
      recordCall(SILO, 'cooldowns', [toWalletAddress('stranger')], [0n, 0n]),
    ])
    const confirmed = await watcher.confirm(subjects, { client: chain.client, block }, patient)
    const texts = confirmed.map((each) =>
      each === 'gone' ? each : ['value_usd', 'withdrawable_usd', 'due_in_sec'].map((figure) => each.text(figure)),
    )
    expect(texts.slice(0, 4)).toEqual([
      ['7.646667', '7.646666', 'MAX'],
      ['8.645667', '0.000000', String(HOUR)],
      [null, null, null],
      'gone',
    ])
    const [plain] = confirmed
    if (plain === undefined || plain === 'gone') throw new Error('Expected figures')
    expect(formatUsd(plain.value('value_usd') as Rational)).toBe('7.646667')
  },
  LIMIT_MS,
)

test.each(['override', 'deployless'] as const)(
  'what takes much gas in one vault takes nothing from others: %s',
  async (mode) => {
    const client = withLensMode(chain.client, mode)
    const { list } = createCaller({ client }, [{ address: LOOP, kind: 'erc4626' }, ...ENTRIES.slice(0, 1)])
    const { data } = await list(`wallet=${WALLET}`)
    expect(data.map(({ vault, assets }) => [vault.address, assets?.raw])).toEqual([
      [PLAIN, String(WORTH)],
      [LOOP, undefined],
    ])
  },
  LIMIT_MS,
)

test(
  'the doctor names a vault that does not answer',
  async () => {
    const parts = { clients: new Map([[1, chain.client]]), clock: slowClock }
    const check = (vaults: readonly VaultEntry[]) => {
      const [contract] = VAULTS.configure(new Map([[1, { vaults }]])).contracts(parts)
      return contract?.read(WALLET, patient)
    }
    expect(await check(ENTRIES.slice(0, 1))).toBeUndefined()
    const failure = (await check(ENTRIES)?.catch((error: Error) => error)) as Error | undefined
    expect(failure?.message).toBe(`Cannot read chain 1: vault ${LOOP} does not answer`)
  },
  LIMIT_MS,
)

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, encodeAbiParameters, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { executeUnits } from '../../../../src/chain/call/exit/execute.ts'
import { readLatestBlock } from '../../../../src/chain/evm/read_block.ts'
import { createHoldingsReader } from '../../../../src/family/vaults/holdings.ts'
import { createVaultReader } from '../../../../src/family/vaults/read/read.ts'
import type { VaultEntry } from '../../../../src/family/vaults/table.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { BANK, toWalletAddress } from '../../../devnet/addresses.ts'
import { createSend, type Send } from '../../../devnet/transaction.ts'
import { vaultContracts } from '../../../devnet/vaults/compile.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { type ReplayedChain, startReplayedChain } from './support.ts'

const LIMIT_MS = 120_000
const MINUTE_MS = 60_000
const patient = createWork(new AbortController().signal)
const ABI = parseAbi([
  'function mint(address account, uint256 amount)',
  'function approve(address spender, uint256 amount) returns (bool)',
  'function deposit(uint256 assets, address receiver) returns (uint256)',
  'function withdraw(uint256 assets, address receiver, address owner) returns (uint256)',
  'function lend(address to, uint256 value)',
  'function setCooldownDuration(uint24 duration)',
  'function cooldownShares(uint256 shares)',
])
const encode = (functionName: (typeof ABI)[number]['name'], ...args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: ABI, functionName, args } as never)
const WALLETS = ['first', 'second', 'third'].map((name) => toWalletAddress(`${name} depositor`)) as [
  Address,
  Address,
  Address,
]
const DAY_SEC = 86_400

let chain: ReplayedChain
let send: Send
let asset: Address
/** OpenZeppelin's vault, and ours that lends and has a silo. */
let plain: Address
let silo: Address

beforeAll(async () => {
  chain = await startReplayedChain()
  send = createSend(chain.rpc)
  const codes = await vaultContracts()
  const create = async (data: Hex) => {
    const [receipt] = await send([{ from: BANK, data }])
    return receipt?.contractAddress as Address
  }
  asset = await create(codes.ERC20Mock)
  const argument = encodeAbiParameters([{ type: 'address' }], [asset]).slice(2)
  plain = await create(`${codes.ERC4626Mock}${argument}`)
  silo = await create(`${codes.SiloVault}${argument}`)
  for (const [index, wallet] of WALLETS.entries()) {
    const amount = 10n ** 18n * BigInt(index + 1) + 7n
    await send([
      { from: BANK, to: asset, data: encode('mint', wallet, 2n * amount) },
      ...[plain, silo].flatMap((vault) => [
        { from: wallet, to: asset, data: encode('approve', vault, amount) },
        { from: wallet, to: vault, data: encode('deposit', amount, wallet) },
      ]),
      // Donations after each of them make shares worth odd amounts.
      ...[plain, silo].map((vault) => ({ from: BANK, to: asset, data: encode('mint', vault, 333_333_333n) })),
    ])
  }
}, LIMIT_MS)
afterAll(() => chain?.anvil.stop(), LIMIT_MS)

/** A reader of both vaults, and of others that do not stand. */
function createReader(absent: readonly Address[] = []) {
  const entries: readonly VaultEntry[] = [
    ...absent.map((address) => ({ address, kind: 'erc4626' as const })),
    { address: plain, kind: 'erc4626' },
    { address: silo, kind: 'silo' },
  ]
  return createVaultReader({
    clients: new Map([[1, chain.client]]),
    deployments: new Map([[1, entries]]),
    clock: slowClock,
  })
}

async function readHoldings(wallet: Address) {
  const read = await createHoldingsReader(createReader()).open(wallet, { client: chain.client }, patient)
  if (read === undefined) throw new Error('Expected vaults')
  return await chain.client.read((endpoint, work) => read({ endpoint, positionsMax: 100 }, work), { work: patient })
}

/** What arrives in place of each row, by the exits of the family. */
async function leave(wallet: Address) {
  const holdings = await readHoldings(wallet)
  const exits = holdings.listExits?.() ?? []
  const { units } = await chain.client.read(
    async (endpoint, work) => {
      const block = await readLatestBlock(endpoint, 1, work)
      const untilMs = slowClock.monotonicMs() + MINUTE_MS
      return await executeUnits(endpoint, { wallet, units: exits, lenders: [], block, clock: slowClock, untilMs }, work)
    },
    { work: patient },
  )
  return holdings.rows.map((row) => {
    const index = exits.findIndex(({ position }) => position['vault'] === row.position['vault'])
    const unit = units[index]
    const steps = exits[index]?.steps ?? []
    const own = steps.flatMap(({ parts }, step) => {
      const outcome = unit?.kind === 'run' && parts?.includes(row.position['part'] ?? '') ? unit.steps[step] : undefined
      return outcome === undefined ? [] : [outcome]
    })
    const arrived = own.reduce((sum, each) => sum + (each.kind === 'done' ? (each.deltas[0] ?? 0n) : 0n), 0n)
    const refusals = own.flatMap((each) => {
      return each.kind === 'reverted' ? [exits[index]?.explain(each.reason, 'supplied') ?? each.reason] : []
    })
    return { row, told: row.withdrawable === undefined ? row.amount : row.withdrawable.amount, arrived, refusals }
  })
}

test(
  'what arrives is what the rows say, to the unit, also where a vault lent what it owes',
  async () => {
    for (const wallet of WALLETS) {
      const rows = await leave(wallet)
      expect(rows).toHaveLength(2)
      for (const { row, told, arrived } of rows) expect([row.amount, arrived]).toEqual([told ?? -1n, told ?? -1n])
    }
    await send([{ from: BANK, to: silo, data: encode('lend', BANK, 4n * 10n ** 18n) }])
    for (const wallet of WALLETS) {
      const [, { row, told, arrived } = { row: undefined, told: undefined, arrived: 0n }] = await leave(wallet)
      expect(arrived).toBe(told ?? -1n)
      const isLimited = row?.withdrawable !== undefined
      // It has what the first two are due, and not what the third is.
      expect([isLimited, (row?.amount ?? 0n) > arrived]).toEqual([wallet === WALLETS[2], wallet === WALLETS[2]])
      if (!isLimited) continue
      expect(row?.withdrawable?.limitedBy).toBe('liquidity')
      const data = encode('withdraw', arrived + 1n, wallet, wallet)
      const [receipt] = await send([{ from: wallet, to: silo, data }], { mayRevert: true })
      expect(BigInt(receipt?.status ?? '0x1')).toBe(0n)
    }
  },
  LIMIT_MS,
)

test(
  'while a silo has a cooldown its shares pay nothing, and what waits in it arrives once that is over',
  async () => {
    const [wallet] = WALLETS
    const shares = 10n ** 17n
    await send([
      { from: BANK, to: silo, data: encode('setCooldownDuration', DAY_SEC) },
      { from: wallet, to: silo, data: encode('cooldownShares', shares) },
    ])
    const pick = (rows: Awaited<ReturnType<typeof leave>>) =>
      rows
        .filter(({ row }) => row.position['vault'] === silo)
        .map(({ row, told, arrived, refusals }) => [row.position['part'], told, arrived, refusals])
    expect(pick(await leave(wallet))).toEqual([
      ['shares', 0n, 0n, ['paused']],
      ['cooldown', 0n, 0n, ['paused']],
    ])
    await chain.rpc.call('evm_increaseTime', DAY_SEC)
    await chain.rpc.call('evm_mine')
    const [, waiting] = pick(await leave(wallet))
    const [part, told, arrived, refusals] = waiting ?? []
    expect([part, refusals]).toEqual(['cooldown', []])
    expect(arrived).toBe(told as bigint)
    expect((told as bigint) > shares).toBe(true)
    // Without a cooldown both pay at once.
    await send([{ from: BANK, to: silo, data: encode('setCooldownDuration', 0) }])
    for (const { told: free, arrived: paid } of await leave(wallet)) expect(paid).toBe(free ?? -1n)
  },
  LIMIT_MS,
)

test(
  'many wallets in several pages have what each has alone',
  async () => {
    const others = Array.from({ length: 497 }, (_, index) => toWalletAddress(`other ${index}`))
    const wallets = [WALLETS[0], ...others.slice(0, 300), WALLETS[1], ...others.slice(300), WALLETS[2]]
    const absent = ['one', 'two', 'three', 'four'].map((name) => toWalletAddress(`absent vault ${name}`))
    const reader = createReader(absent)
    const targets = [...reader.targets.values()]
    const readPositions = async (asked: readonly Address[]) => {
      const [read] = await reader.read(asked, { targets, work: patient })
      expect(read?.silent).toEqual([])
      return (read?.positions ?? []).map(({ wallet, listed, shares, assets }) => [
        wallet,
        listed.address,
        shares,
        assets,
      ])
    }
    const alone = await Promise.all(WALLETS.map((wallet) => readPositions([wallet])))
    expect(await readPositions(wallets)).toEqual(alone.flat())
    expect(alone.flat()).toHaveLength(6)
  },
  LIMIT_MS,
)

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { getAddress } from 'viem'
import { DECIMALS, getTimeSec, recordCall } from '../../../devnet/vaults/record.ts'
import { WORLDS, type World } from '../../../devnet/vaults/vectors.ts'
import { createCaller, placeWorld, type ReplayedChain, startReplayedChain, toEntries, USD8 } from './support.ts'

const LIMIT_MS = 300_000

let chain: ReplayedChain
/** Block of each world, by its seed. */
const blocks = new Map<number, number>()

beforeAll(async () => {
  chain = await startReplayedChain()
  for (const world of WORLDS) {
    await placeWorld(chain, world)
    blocks.set(world.seed, await chain.mineAt(getTimeSec(world)))
    // Worlds share addresses, and Anvil keeps a block's state when the next one comes.
    await chain.rpc.call('evm_mine')
  }
}, LIMIT_MS)
afterAll(() => chain?.anvil.stop(), LIMIT_MS)

/** Units of the asset as US dollars with six digits, half away from zero. */
function toUsd(units: bigint): string {
  const scale = 10n ** BigInt(DECIMALS.asset + 8 - 6)
  const millionths = (2n * units * USD8 + scale) / (2n * scale)
  const text = String(millionths).padStart(7, '0')
  return `${text.slice(0, -6)}.${text.slice(-6)}`
}

function toAmount(units: bigint, decimals: number): string {
  const text = String(units).padStart(decimals + 1, '0')
  return `${text.slice(0, -decimals)}.${text.slice(-decimals)}`.replace(/\.?0+$/, '')
}

function toKind(kind: string): string {
  return kind.startsWith('metamorpho') ? 'metamorpho' : 'morpho_vault_v2'
}

async function readWorld(world: World) {
  const wallets = [...new Set(world.holders.map(({ wallet }) => wallet))]
  const { batch } = createCaller(chain, toEntries(world))
  return await batch({ wallets, chain_id: 1, at_block: blocks.get(world.seed) })
}

for (const world of WORLDS) {
  test(
    `worth and what can be withdrawn equal what the contracts answered and paid, to the unit: world ${world.seed}`,
    async () => {
      const { data, credits } = await readWorld(world)
      expect([data.length, credits]).toEqual([world.holders.length, 2 * world.holders.length])
      for (const holder of world.holders) {
        const row = data.find(
          ({ wallet, vault }) => wallet === getAddress(holder.wallet) && vault.address === getAddress(holder.vault),
        )
        const { executed } = holder
        expect(row?.vault.kind).toBe(toKind(holder.kind) as never)
        expect(row?.shares).toEqual({ raw: holder.shares, amount: toAmount(BigInt(holder.shares), DECIMALS.share) })
        expect(row?.assets?.raw).toBe(holder.previewRedeem)
        expect(row?.value_usd).toBe(toUsd(BigInt(holder.previewRedeem)))
        expect(row?.withdrawable?.raw).toBe(holder.withdrawableNow)
        expect(row?.withdrawable?.usd).toBe(toUsd(BigInt(holder.withdrawableNow)))
        expect(row?.limited_by).toBe(holder.limitedBy)
        expect([row?.cooldown, row?.reason]).toEqual([null, null])
        // What was executed: all of it where nothing limits it, and one unit more nowhere.
        if (executed.withdrawThat?.paid !== undefined) expect(row?.withdrawable?.raw).toBe(executed.withdrawThat.paid)
        if (executed.redeemAll.paid !== undefined) expect(row?.assets?.raw).toBe(executed.redeemAll.paid)
        expect(executed.withdrawOneMore.reverted).toBeDefined()
      }
    },
    LIMIT_MS,
  )
}

test(
  'a list has the rows of the batch, in the order of the vaults',
  async () => {
    const [world] = WORLDS as [World]
    const { data } = await readWorld(world)
    const { list } = createCaller(chain, toEntries(world))
    for (const wallet of new Set(world.holders.map((holder) => holder.wallet))) {
      const own = await list(`wallet=${wallet}&at_block=${blocks.get(world.seed)}&chain_id=1`)
      expect([...own.data]).toEqual(data.filter((row) => row.wallet === getAddress(wallet)))
      const order = world.vaults.map(({ vault }) => getAddress(vault))
      const places = own.data.map(({ vault }) => order.indexOf(vault.address as never))
      expect(places).toEqual(places.toSorted((a, b) => a - b))
    }
  },
  LIMIT_MS,
)

test(
  'vaults that a caller names are read if a factory made them, and nothing else is',
  async () => {
    const [world] = WORLDS as [World]
    const { data } = await readWorld(world)
    const registries = toEntries(world).filter(({ kind }) => kind !== 'erc4626')
    const { list } = createCaller(chain, registries)
    const [holder] = world.holders
    const vaults = [...world.vaults.map(({ vault }) => vault), world.asset, world.morpho].join()
    const at = `wallet=${holder?.wallet}&chain_id=1&at_block=${blocks.get(world.seed)}`
    const named = await list(`${at}&vaults=${vaults}`)
    expect([...named.data]).toEqual(data.filter((row) => row.wallet === getAddress(holder?.wallet ?? '0x')))
    expect(named.data.length).toBeGreaterThan(0)
    expect(await list(at)).toEqual({ data: [], credits: 0 })
  },
  LIMIT_MS,
)

test.each([
  ['of another vault', 'parentVault'],
  ['that the vault does not have', 'isAdapter'],
] as const)(
  'a liquidity adapter %s pays nothing: what the vault holds itself can be withdrawn',
  async (_, getter) => {
    // An adapter that can pay more than the vault holds, without regard to whose it is.
    const isPayer = ({ kind, idle, withdrawableNow }: World['holders'][number]) =>
      kind === 'vault-v2 blue' && BigInt(withdrawableNow) > BigInt(idle)
    const world = WORLDS.find(({ holders }) => holders.some(isPayer))
    const { vault, adapter } = world?.vaults.find(({ kind }) => kind === 'vault-v2 blue') ?? {}
    const own = world?.holders.filter((holder) => holder.vault === vault) ?? []
    if (world === undefined || vault === undefined || adapter === undefined) throw new Error('Expected an adapter')
    await placeWorld(chain, world)
    await chain.place([
      getter === 'parentVault'
        ? recordCall(adapter, 'parentVault', [], world.morpho)
        : recordCall(vault, 'isAdapter', [adapter], false),
    ])
    await chain.rpc.call('evm_mine')
    const { batch } = createCaller(chain, toEntries(world))
    const { data } = await batch({ wallets: own.map(({ wallet }) => wallet), chain_id: 1 })
    for (const { wallet, convertToAssets, idle } of own) {
      const row = data.find((each) => each.wallet === getAddress(wallet) && each.vault.address === getAddress(vault))
      const most = BigInt(convertToAssets) < BigInt(idle) ? convertToAssets : idle
      expect([row?.assets?.raw, row?.withdrawable?.raw]).toEqual([convertToAssets, most])
    }
  },
  LIMIT_MS,
)

import { expect, test } from 'bun:test'
import * as book from '@aave-dao/aave-address-book'
import { addressesRegistry } from '@morpho-org/morpho-ts'
import { checksumAddress } from 'viem'
import { VAULTS } from '../../../../src/family/vaults/mod.ts'
import { isVault, VAULT_ENTRIES } from '../../../../src/family/vaults/table.ts'
import { VAULT_ROWS } from '../../../../src/finance/price/table/vaults.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'

test('132 vaults, each once, with addresses that pass their checksums', () => {
  const rows = Object.values(VAULT_ROWS)
  expect(rows.map((each) => each.length)).toEqual([37, 1, 13, 34, 22, 7, 4, 4, 10])
  for (const each of rows) {
    expect(new Set(each.map(([, vault]) => vault)).size).toBe(each.length)
    for (const [, vault, asset] of each)
      expect([vault, asset]).toEqual([checksumAddress(vault), checksumAddress(asset)])
  }
})

test('sGHO and the stake tokens of Umbrella are those of Aave’s address book', () => {
  const stakes = Object.values(book.UmbrellaEthereum.UMBRELLA_STAKE_ASSETS)
  expect(stakes.length).toBeGreaterThan(3)
  const rows = VAULT_ROWS[1] ?? []
  const windows = rows.filter(([, , , kind]) => kind === 'window').map(([, vault, asset]) => [vault, asset])
  expect(windows).toEqual(stakes.map(({ STAKE_TOKEN, UNDERLYING }) => [STAKE_TOKEN, UNDERLYING]))
  expect(rows.find(([symbol]) => symbol === 'sGHO')?.[1]).toBe(book.GhoEthereum.SGHO as never)
})

test('the registries are those that Morpho’s package names', () => {
  let compared = 0
  for (const [id, entries] of VAULT_ENTRIES) {
    const { metaMorphoFactory, vaultV2Factory, registryList } = (addressesRegistry[id as never] ?? {}) as Readonly<
      Record<string, string | undefined>
    >
    const named = [
      ['metamorpho_factory', metaMorphoFactory],
      ['morpho_vault_v2_factory', vaultV2Factory],
      ['morpho_adapter_registry', registryList],
    ].filter(([, address]) => address !== undefined)
    expect([
      id,
      entries.filter((entry) => !isVault(entry)).map(({ kind, address }) => [kind, address as string]),
    ]).toEqual([id, named as string[][]])
    compared += named.length
  }
  expect(compared).toBeGreaterThan(80)
})

test('a row of CHAINS_FILE adds vaults by their address, and refuses one that is described twice', () => {
  const [vault] = ['added vault'].map(toWalletAddress)
  const configure = (vaults: object) => VAULTS.configure(new Map([[1, vaults]]))
  const added = configure({ add: { vaults: [{ address: vault, kind: 'silo' }] } }).settings.get(1)
  expect((added as readonly unknown[]).at(-1)).toEqual({ address: vault, kind: 'silo' })
  expect((added as readonly unknown[]).length).toBe((VAULT_ENTRIES.get(1)?.length ?? 0) + 1)
  const twice = configure({ vaults: [{ address: vault }, { address: vault }] })
  expect(twice.mistakes).toEqual([`vault ${vault} of chain 1 is described twice`])
  expect(twice.omitted.get(1)).toContain('positions in vaults 0x9D39A5DE30e57443BfF2A8307A4256c8797A3497')
})

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAddress, type Hex, pad, toHex } from 'viem'
import { ConfigError, readConfig } from '../../../src/config/config.ts'
import { readTextFile } from '../../../src/config/read_file.ts'
import { FINANCE_CHAINS } from '../../../src/finance/chain.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'lists-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Some address, in lower case as many lists have them. */
function token(index: number): Hex {
  return pad(toHex(0xabcd_0000_0000 + index), { size: 20 })
}

function file(name: string, content: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

function createList(tokens: readonly unknown[], changes: object = {}) {
  return {
    name: 'Test',
    timestamp: '2026-11-23T00:00:00Z',
    version: { major: 1, minor: 2, patch: 3 },
    tokens,
    ...changes,
  }
}

function chainsWith(paths: readonly string[], env: Record<string, string> = {}) {
  return readConfig({ CHAINS: '1,10', TOKEN_LISTS: paths.join(), ...env }, readTextFile).chains
}

function listMistakes(paths: readonly string[], env: Record<string, string> = {}): readonly string[] {
  try {
    chainsWith(paths, env)
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes
    throw error
  }
  return []
}

const [ethereum] = FINANCE_CHAINS

describe('TOKEN_LISTS', () => {
  test('adds tokens of the chains that are served, each once, and names the lists', () => {
    const known = ethereum?.tokens.addresses[0] ?? '0x'
    const one = file('one.json', [])
    const first = file(
      'first.json',
      createList([
        { chainId: 1, address: token(1), symbol: 'A', name: 'A', decimals: 18 },
        { chainId: 1, address: getAddress(token(1)) },
        { chainId: 1, address: known },
        { chainId: 10, address: token(2) },
        // Neither is served: one is not even an EVM address.
        { chainId: 8453, address: token(3) },
        { chainId: 501_000_101, address: 'So11111111111111111111111111111111111111112' },
        // The native token is always asked.
        { chainId: 1, address: '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE' },
      ]),
    )
    const second = file(
      'second.json',
      `\ufeff${JSON.stringify(createList([{ chainId: 1, address: token(1) }], { name: 'Other', version: undefined }))}`,
    )
    const [mainnet, op] = chainsWith([first, second])
    expect(mainnet?.tokens.addresses).toEqual([...(ethereum?.tokens.addresses ?? []), getAddress(token(1))])
    expect(mainnet?.tokens.names).toEqual([...(ethereum?.tokens.names ?? []), 'Test 1.2.3', 'Other'])
    expect(op?.tokens.addresses).toContain(getAddress(token(2)))
    expect(op?.tokens.names).toHaveLength(2)
    expect(listMistakes([one])).toEqual([
      'TOKEN_LISTS: file 1: name: it is required',
      'TOKEN_LISTS: file 1: tokens: it is required',
    ])
  })

  test('adds to the tokens of CHAINS_FILE, which adds to the built-in ones and names the native token', () => {
    const chains = [{ id: 1, name: 'Mine', rpcUrls: ['http://a.test'], tokens: [token(7)], nativeSymbol: 'MINE' }]
    const env = { CHAINS_FILE: file('chains.json', { chains }) }
    const list = file('beside.json', createList([{ chainId: 1, address: token(8) }]))
    const [mainnet] = chainsWith([list], env)
    const { addresses = [] } = ethereum?.tokens ?? {}
    expect(mainnet?.tokens.addresses).toEqual([...addresses, getAddress(token(7)), getAddress(token(8))])
    expect(mainnet?.tokens.names).toEqual([...(ethereum?.tokens.names ?? []), 'CHAINS_FILE', 'Test 1.2.3'])
    expect(mainnet?.nativeCurrency).toEqual({
      symbol: 'MINE',
      decimals: 18,
      wrapped: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
    })
    expect(chainsWith([], env)[0]?.tokens.addresses).toEqual([...addresses, getAddress(token(7))])
  })

  test('reads no token that CHAINS_FILE calls a double of the native one, from any list', () => {
    const doubles = [token(7), token(8)]
    const chains = [{ id: 1, name: 'Mine', rpcUrls: ['http://a.test'], tokens: doubles, nativeDoubles: doubles }]
    const list = file('doubles.json', createList([{ chainId: 1, address: token(8) }]))
    const [mainnet] = chainsWith([list], { CHAINS_FILE: file('doubles_chains.json', { chains }) })
    expect(mainnet?.tokens.addresses).toEqual(ethereum?.tokens.addresses ?? [])
    expect(mainnet?.nativeDoubles).toEqual(doubles.map((each) => getAddress(each)))
  })

  test('reports all mistakes of all files at once, without paths', () => {
    const tokens = Array.from({ length: 6_000 }, (_, index) => ({ chainId: 1, address: token(index) }))
    const wrong = tokens.slice(0, 8).map(({ chainId }) => ({ chainId, address: '0x12' }))
    const mistakes = listMistakes([
      join(folder, 'absent.json'),
      folder,
      file('big.json', ' '.repeat(50_000_000)),
      '/dev/zero',
      file('text.json', '{"name": "x", "tokens": ['),
      file('array.json', '[1]'),
      file('shape.json', createList([{ chainId: '1', address: 5 }], { name: '' })),
      file('addresses.json', createList(wrong)),
      file('checksum.json', createList([{ chainId: 1, address: '0xc02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2' }])),
      file('many.json', createList(tokens)),
    ])
    const expected = 'expected an EVM address, with a valid checksum if any'
    const count = 6_000 + (ethereum?.tokens.addresses.length ?? 0)
    expect(mistakes).toEqual([
      'TOKEN_LISTS: file 1: cannot read the file',
      'TOKEN_LISTS: file 2: cannot read the file',
      'TOKEN_LISTS: file 3: expected a file of at most 20 MB',
      'TOKEN_LISTS: file 4: expected a file of at most 20 MB',
      'TOKEN_LISTS: file 5: expected valid JSON',
      'TOKEN_LISTS: file 6: name: it is required',
      'TOKEN_LISTS: file 6: tokens: it is required',
      'TOKEN_LISTS: file 7: name: expected 1 to 64 characters',
      'TOKEN_LISTS: file 7: tokens.0.chainId: expected number',
      'TOKEN_LISTS: file 7: tokens.0.address: expected string',
      ...[0, 1, 2, 3, 4].map((index) => `TOKEN_LISTS: file 8: tokens.${index}.address: ${expected}`),
      'TOKEN_LISTS: file 8: 3 more mistakes of this kind',
      `TOKEN_LISTS: file 9: tokens.0.address: ${expected}`,
      `TOKEN_LISTS, CHAINS_FILE: expected at most 5000 tokens of chain 1, got ${count}`,
    ])
    expect(mistakes.join()).not.toContain(folder)
  })

  test('takes 5,000 tokens of a chain and not one more, the built-in ones counted', () => {
    const room = 5_000 - (ethereum?.tokens.addresses.length ?? 0)
    const tokens = Array.from({ length: room }, (_, index) => ({ chainId: 1, address: token(index) }))
    expect(listMistakes([file('full.json', createList(tokens))])).toEqual([])
    expect(
      listMistakes([file('over.json', createList([...tokens, { chainId: 1, address: token(room) }]))]),
    ).toHaveLength(1)
  })
})

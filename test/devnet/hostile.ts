import { type Address, getAddress, type Hex } from 'viem'
import { BANK, TOKENS, toWalletAddress } from './addresses.ts'
import { ownCreationCode } from './artifacts.ts'
import { fundBank, tokenCreationCode } from './contracts.ts'
import type { Builder } from './scenario.ts'
import { fullRange } from './ticks.ts'

const AMOUNT = 10n ** 18n

const plain = (name: string | Uint8Array, symbol: string | Uint8Array, decimals = 18): Hex =>
  tokenCreationCode({ name, symbol, decimals })

/** Creation code of every odd token, by what is odd about it. */
const HOSTILE = {
  /** Name and symbol are bytes32, as MKR's. */
  bytes32: ownCreationCode('Bytes32Token'),
  /** No name, symbol or decimals at all. */
  bare: ownCreationCode('BareToken'),
  decimals0: plain('No decimals', 'WHOLE', 0),
  decimals36: plain('Many decimals', 'FINE', 36),
  decimals255: plain('Most decimals', 'FINEST', 255),
  /** `decimals()` answers 2^200. */
  wideDecimals: ownCreationCode('WideDecimalsToken'),
  /** Name and symbol of a mebibyte. */
  hugeSymbol: ownCreationCode('HugeSymbolToken'),
  /** A string that claims 2^256 - 1 bytes. */
  lyingSymbol: ownCreationCode('LyingSymbolToken'),
  gasBurner: ownCreationCode('GasBurnerToken'),
  reverting: ownCreationCode('RevertingToken'),
  emptySymbol: plain('', ''),
  link: plain('See https://airdrop.example/claim', 'AIRDROP'),
  claimReward: plain('Claim your reward at claim-reward.example', 'REWARD'),
  linkInSymbol: plain('Ordinary', 't.me/free_tokens'),
  /** Tabs, line ends, an escape sequence, NUL. */
  control: plain('Evil\u001b[31m\u0000name\r\n', 'E\tV\u0007L\n'),
  /** Right-to-left override and a zero-width space: shows as something else than it is. */
  bidi: plain('USD\u202eNIOC\u202c', 'US\u200bDC'),
  invalidUtf8: plain(Uint8Array.of(0x42, 0xff, 0xfe, 0x44), Uint8Array.of(0xc3, 0x28)),
  /** Its code is gone: the address answers nothing. */
  removed: plain('Gone', 'GONE'),
} as const satisfies Record<string, Hex>

export type HostileKind = keyof typeof HOSTILE

export interface HostilePosition {
  readonly kind: HostileKind
  readonly token: Address
  /** The pool of the token and WETH. */
  readonly pool: Address
  readonly tokenId: bigint
}

export interface HostileScenario {
  /** Owns one position per kind and nothing else. */
  readonly wallet: Address
  readonly positions: Readonly<Record<HostileKind, HostilePosition>>
}

/** Deploys every odd token with a pool against WETH and a full-range position in each. */
export async function addHostileTokens({ rpc, send, v3 }: Builder): Promise<HostileScenario> {
  const kinds = Object.keys(HOSTILE) as HostileKind[]
  const deployed = await send(kinds.map((kind) => ({ from: BANK, data: HOSTILE[kind] })))
  const tokens = deployed.map(({ contractAddress }) => {
    if (contractAddress === null) throw new Error('Cannot deploy a token: no contract was created')
    return getAddress(contractAddress)
  })
  await send(tokens.flatMap(fundBank))
  const pools = await v3.createPools(
    tokens.map((tokenA) => ({ tokenA, tokenB: TOKENS.weth.address, fee: 3000, amountA: AMOUNT, amountB: AMOUNT })),
  )
  const wallet = toWalletAddress('hostile')
  const minted = await v3.mintMany(
    pools.map((pool) => ({ pool, ...fullRange(pool), amount0: AMOUNT, amount1: AMOUNT, recipient: wallet })),
  )
  const positions = kinds.map((kind, index) => {
    const [token, pool, position] = [tokens[index], pools[index], minted[index]]
    if (token === undefined || pool === undefined || position === undefined) throw new Error(`Cannot build ${kind}`)
    return [kind, { kind, token, pool: pool.address, tokenId: position.tokenId }] as const
  })
  const scenario = Object.fromEntries(positions) as Record<HostileKind, HostilePosition>
  await rpc.call('anvil_setCode', scenario.removed.token, '0x')
  return { wallet, positions: scenario }
}

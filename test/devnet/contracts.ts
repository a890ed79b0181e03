import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { encodeAbiParameters, encodeFunctionData, type Hex, maxUint256, pad, parseAbi, stringToHex, toHex } from 'viem'
import { BANK, MULTICALL3, TOKENS, UNISWAP_V3 } from './addresses.ts'
import { ownCreationCode, packageCreationCode } from './artifacts.ts'
import { type Placement, placeContractsAt } from './place.ts'
import type { Rpc } from './rpc.ts'
import type { Send, Transaction } from './transaction.ts'

/** What the bank has of every token, in raw units: never the limit of anything. */
const BANK_BALANCE = 10n ** 60n
const BANK_ETHER_WEI = 10n ** 30n

const ABI = parseAbi([
  'function mint(address to, uint256 value)',
  'function approve(address spender, uint256 value)',
  'function deposit()',
  'function enableFeeAmount(uint24 fee, int24 tickSpacing)',
  'function set(int256 answer, uint256 updatedAt)',
])

/** Puts tokens, feeds, Multicall3 and Uniswap V3 at their mainnet addresses, owned and funded by the bank. */
export async function placeContracts(context: { readonly rpc: Rpc; readonly send: Send }): Promise<void> {
  const placements = [...(await uniswapV3()), ...(await tokens()), ...feeds(), await multicall3()]
  await context.rpc.call('anvil_setBalance', BANK, toHex(BANK_ETHER_WEI))
  await placeContractsAt(context, { placements, owner: BANK })
  await context.send([
    // Governance added the tier of 0.01 % after the factory was deployed.
    {
      from: BANK,
      to: UNISWAP_V3.factory,
      data: encodeFunctionData({ abi: ABI, functionName: 'enableFeeAmount', args: [100, 1] }),
    },
    {
      from: BANK,
      to: TOKENS.weth.address,
      data: encodeFunctionData({ abi: ABI, functionName: 'deposit' }),
      value: BANK_ETHER_WEI / 2n,
    },
    ...approvals(TOKENS.weth.address),
    ...Object.values(TOKENS)
      .filter((token) => token !== TOKENS.weth)
      .flatMap((token) => fundBank(token.address)),
  ])
}

/** Gives the bank plenty of a token of ours and lets the manager and the router spend it. */
export function fundBank(token: Hex): Transaction[] {
  const data = encodeFunctionData({ abi: ABI, functionName: 'mint', args: [BANK, BANK_BALANCE] })
  return [{ from: BANK, to: token, data }, ...approvals(token)]
}

/** Sets a feed of ours; without `updatedAtSec` its answer is as fresh as the block that asks. */
export function setFeedCall(
  feed: Hex,
  { answer, updatedAtSec = 0n }: { readonly answer: bigint; readonly updatedAtSec?: bigint },
): Transaction {
  return {
    from: BANK,
    to: feed,
    data: encodeFunctionData({ abi: ABI, functionName: 'set', args: [answer, updatedAtSec] }),
  }
}

function approvals(token: Hex): Transaction[] {
  return [UNISWAP_V3.manager, UNISWAP_V3.router].map((spender) => ({
    from: BANK,
    to: token,
    data: encodeFunctionData({ abi: ABI, functionName: 'approve', args: [spender, maxUint256] }),
  }))
}

async function uniswapV3(): Promise<Placement[]> {
  const { factory, manager, router, descriptor, nftDescriptor } = UNISWAP_V3
  const weth = TOKENS.weth.address
  const periphery = '@uniswap/v3-periphery/artifacts/contracts'
  const addresses = (...values: readonly Hex[]) =>
    encodeAbiParameters(
      values.map(() => ({ type: 'address' })),
      values,
    )
  const descriptorArgs = encodeAbiParameters(
    [{ type: 'address' }, { type: 'bytes32' }],
    [weth, pad(stringToHex('ETH'), { dir: 'right', size: 32 })],
  )
  const codes = {
    [factory]: packageCreationCode('@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json'),
    [nftDescriptor]: packageCreationCode(`${periphery}/libraries/NFTDescriptor.sol/NFTDescriptor.json`),
    [descriptor]: packageCreationCode(
      `${periphery}/NonfungibleTokenPositionDescriptor.sol/NonfungibleTokenPositionDescriptor.json`,
      { args: descriptorArgs, library: nftDescriptor },
    ),
    [manager]: packageCreationCode(`${periphery}/NonfungiblePositionManager.sol/NonfungiblePositionManager.json`, {
      args: addresses(factory, weth, descriptor),
    }),
    [router]: packageCreationCode(`${periphery}/SwapRouter.sol/SwapRouter.json`, { args: addresses(factory, weth) }),
  }
  return Promise.all(
    Object.entries(codes).map(async ([address, code]) => ({ address: address as Hex, creationCode: await code })),
  )
}

async function tokens(): Promise<Placement[]> {
  const { weth, ...others } = TOKENS
  const wethCode = await packageCreationCode('@aave/core-v3/artifacts/contracts/dependencies/weth/WETH9.sol/WETH9.json')
  return [
    { address: weth.address, creationCode: wethCode },
    ...Object.values(others).map((token) => ({ address: token.address, creationCode: tokenCreationCode(token) })),
  ]
}

/** Creation code of an ordinary token whose name and symbol are any bytes at all. */
export function tokenCreationCode(token: {
  readonly name: string | Uint8Array
  readonly symbol: string | Uint8Array
  readonly decimals: number
}): Hex {
  const bytes = [toHex(token.name), toHex(token.symbol)] as const
  const args = encodeAbiParameters(
    [{ type: 'bytes' }, { type: 'bytes' }, { type: 'uint8' }],
    [...bytes, token.decimals],
  )
  return ownCreationCode('Token', args)
}

function feeds(): Placement[] {
  return Object.values(TOKENS).map(({ feed, symbol, usd }) => {
    const base = symbol.replace(/^W(ETH|BTC)$/, '$1')
    const args = encodeAbiParameters(
      [{ type: 'uint8' }, { type: 'string' }, { type: 'int256' }],
      [8, `${base} / USD`, BigInt(usd) * 10n ** 8n],
    )
    return { address: feed, creationCode: ownCreationCode('Feed', args) }
  })
}

/** viem carries Multicall3's creation code, but does not export it. */
async function multicall3(): Promise<Placement> {
  const root = dirname(createRequire(import.meta.url).resolve('viem/package.json'))
  const { multicall3Bytecode } = (await import(join(root, '_esm/constants/contracts.js'))) as {
    multicall3Bytecode: Hex
  }
  return { address: MULTICALL3, creationCode: multicall3Bytecode }
}

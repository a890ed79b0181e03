import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Address, decodeFunctionResult, encodeFunctionData, type Hex, parseAbi } from 'viem'
import type { Devnet } from '../../../../devnet/mod.ts'

/** Uniswap's own `OracleLibrary`, from v3-periphery, with the only compiler that accepts it. */

const ABI = parseAbi([
  'function quote(address pool, uint32 secondsAgo, uint128 amount, address base, address quoted) view returns (int24 tick, uint256 out)',
])

const ORACLE = `// SPDX-License-Identifier: MIT
pragma solidity 0.7.6;
import '@uniswap/v3-periphery/contracts/libraries/OracleLibrary.sol';
contract Oracle {
    function quote(address pool, uint32 secondsAgo, uint128 amount, address base, address quoted)
        external view returns (int24 tick, uint256 out)
    {
        (tick, ) = OracleLibrary.consult(pool, secondsAgo);
        out = OracleLibrary.getQuoteAtTick(tick, amount, base, quoted);
    }
}`

/** Value of `amount` raw units of a token at the mean tick of a pool, in raw units of the other token. */
export type AskOracle = (
  question: { readonly pool: Address; readonly amount: bigint; readonly base: Address; readonly quoted: Address },
  secondsAgo: number,
) => Promise<{ readonly tick: number; readonly out: bigint }>

/** Runs the library on the chain by a state override in each call. */
export function createOracle({ rpc }: Devnet): AskOracle {
  const { stdout, success } = Bun.spawnSync([process.execPath, import.meta.path])
  if (!success) throw new Error('Cannot compile OracleLibrary')
  const code = stdout.toString().trim() as Hex
  const to = '0x000000000000000000000000000000000000704c'
  return async ({ pool, amount, base, quoted }, secondsAgo) => {
    const data = encodeFunctionData({ abi: ABI, functionName: 'quote', args: [pool, secondsAgo, amount, base, quoted] })
    const answer = await rpc.call<Hex>('eth_call', { to, data }, 'latest', { [to]: { code } })
    const [tick, out] = decodeFunctionResult({ abi: ABI, functionName: 'quote', data: answer })
    return { tick, out }
  }
}

/** All imports of `OracleLibrary`. */
const NEEDED = /(OracleLibrary|PoolAddress|FullMath|TickMath|IUniswapV3Pool\w*)\.sol$/

/** Runtime code. The compiler changes the process that it runs in. */
function compile(): string {
  const require = createRequire(import.meta.url)
  const solc = require('solc076') as { compile(input: string): string }
  const sources: Record<string, { content: string }> = { 'oracle.sol': { content: ORACLE } }
  const add = (root: string, name: string, folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory()) add(root, name, path)
      else if (NEEDED.test(path)) sources[`${name}/${path}`] = { content: readFileSync(join(root, path), 'utf8') }
    }
  }
  for (const [name, folder] of [
    ['@uniswap/v3-core', 'contracts/libraries'],
    ['@uniswap/v3-core', 'contracts/interfaces'],
    ['@uniswap/v3-periphery', 'contracts/libraries'],
  ] as const) {
    add(dirname(require.resolve(`${name}/package.json`)), name, folder)
  }
  const settings = { outputSelection: { 'oracle.sol': { Oracle: ['evm.deployedBytecode.object'] } } }
  const output = JSON.parse(solc.compile(JSON.stringify({ language: 'Solidity', sources, settings }))) as {
    contracts?: { 'oracle.sol'?: { Oracle?: { evm: { deployedBytecode: { object: string } } } } }
    errors?: readonly { severity: string; formattedMessage: string }[]
  }
  const object = output.contracts?.['oracle.sol']?.Oracle?.evm.deployedBytecode.object
  if (object === undefined)
    throw new Error(output.errors?.find(({ severity }) => severity === 'error')?.formattedMessage)
  return `0x${object}`
}

if (import.meta.main) process.stdout.write(compile())

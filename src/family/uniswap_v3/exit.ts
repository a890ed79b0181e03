import { toFunctionSelector } from 'viem'
import { encodeCall } from '../../chain/call/words.ts'
import type { ExitCustody } from '../liquidity/enumerable/exit.ts'

const HARVEST = toFunctionSelector('harvest(uint256,address)')

/** Harvests, then withdraws and collects through the MasterChef, which takes the manager's own calls of the owner. */
export const exitMasterChef: ExitCustody = ({ custodian: { address: to }, tokenId, owner, rewards = [] }) => ({
  to,
  steps: rewards.map(({ token }) => ({
    kind: 'liquidity',
    parts: ['rewards'],
    tokens: [token.address],
    calls: [{ to, data: encodeCall(HARVEST, tokenId, owner) }],
  })),
})

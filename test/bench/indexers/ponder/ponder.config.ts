import { createConfig } from 'ponder'
import { parseAbi } from 'viem'

/** Written from Aave's `IPool`, the five events that say what a wallet did. */
const abi = parseAbi([
  'event Supply(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint16 indexed referralCode)',
  'event Withdraw(address indexed reserve, address indexed user, address indexed to, uint256 amount)',
  'event Borrow(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint8 interestRateMode, uint256 borrowRate, uint16 indexed referralCode)',
  'event Repay(address indexed reserve, address indexed user, address indexed repayer, uint256 amount, bool useATokens)',
  'event LiquidationCall(address indexed collateralAsset, address indexed debtAsset, address indexed user, uint256 debtToCover, uint256 liquidatedCollateralAmount, address liquidator, bool receiveAToken)',
])

export default createConfig({
  ordering: 'multichain',
  database: { kind: 'postgres', connectionString: process.env.DATABASE_URL },
  chains: { bench: { id: 31337, rpc: process.env.BENCH_RPC } },
  contracts: {
    Pool: {
      chain: 'bench',
      abi,
      address: process.env.BENCH_POOL as `0x${string}`,
      startBlock: 1,
      endBlock: Number(process.env.BENCH_END_BLOCK),
    },
  },
})

import type { Address } from 'viem'

/**
 * How a wrapper says what it is worth: `convertToAssets`; `stEthPerToken`; `getExchangeRate` or `exchangeRate`, scaled by
 * 1e18.
 */
export const WRAPPER_KINDS = ['erc4626', 'stETHPerToken', 'exchangeRate'] as const

export type WrapperKind = (typeof WRAPPER_KINDS)[number]

/** Symbol (for readers of this table only), token, how it tells its rate, and the token inside. */
type WrapperRow = readonly [symbol: string, token: Address, kind: WrapperKind, of: Address]

/**
 * Tokens by chain id that are worth an amount of another one, which their contract tells. Only contracts that are named
 * here count: anybody can write a vault that says anything, or lend what is in it to himself.
 *
 * Sources. Aave's wrapped aTokens (stata): `@aave-dao/aave-address-book` 4.68.1 and Balancer's registry of ERC-4626
 * vaults (balancer/code-review, July 2026), both with what is inside. The others: `test/finance/price/table_test.ts` has
 * the lists that name them, and sUSDS and Gnosis' sDAI their protocols' own repositories. How they tell their rate: Lido's
 * `WstETH`, Rocket Pool's `RocketTokenRETH`, Coinbase's `StakedTokenV1`, Sky's `SavingsDai` and `SUsds`, Gnosis'
 * `SavingsXDai`, Aave's `StataTokenV2`.
 */
export const WRAPPER_ROWS: Readonly<Record<number, readonly WrapperRow[]>> = {
  // Ethereum
  1: [
    [
      'wstETH',
      '0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0',
      'stETHPerToken',
      '0xae7ab96520DE3A18E5e111B5EaAb095312D7fE84',
    ],
    [
      'rETH',
      '0xae78736Cd615f374D3085123A210448E74Fc6393',
      'exchangeRate',
      '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
    ],
    [
      'cbETH',
      '0xBe9895146f7AF43049ca1c1AE358B0541Ea49704',
      'exchangeRate',
      '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
    ],
    ['sDAI', '0x83F20F44975D03b1b09e64809B757c47f942BEeA', 'erc4626', '0x6B175474E89094C44Da98b954EedeAC495271d0F'],
    ['sUSDS', '0xa3931d71877C0E7a3148CB7Eb4463524FEc27fbD', 'erc4626', '0xdC035D45d973E3EC169d2276DDab16f1e407384F'],
    [
      'stata WETH',
      '0x0bfc9d54Fc184518A81162F8fB99c2eACa081202',
      'erc4626',
      '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
    ],
    [
      'stata USDC',
      '0xD4fa2D31b7968E448877f69A96DE69f5de8cD23E',
      'erc4626',
      '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
    ],
    [
      'stata USDT',
      '0x7Bc3485026Ac48b6cf9BaF0A377477Fff5703Af8',
      'erc4626',
      '0xdAC17F958D2ee523a2206206994597C13D831ec7',
    ],
    [
      'stata PYUSD',
      '0xb51EDdDD8c47856D81C8681EA71404Cec93E92c6',
      'erc4626',
      '0x6c3ea9036406852006290770BEdFcAbA0e23A0e8',
    ],
    [
      'stata USDe',
      '0x5F9D59db355b4A60501544637b00e94082cA575b',
      'erc4626',
      '0x4c9EDD5852cd905f086C759E8383e09bff1E68B3',
    ],
    [
      'stata RLUSD',
      '0x6A1792a91C08e9f0bFe7a990871B786643237f0F',
      'erc4626',
      '0x8292Bb45bf1Ee4d140127049757C2E0fF06317eD',
    ],
    [
      'stata USDtb',
      '0x2FE4dC166ADbc0B39EdB47F4324F00A7374daBF7',
      'erc4626',
      '0xC139190F447e929f090Edeb554D95AbB8b18aC1C',
    ],
    [
      'stata USDG',
      '0x2DF6DfbD281F127a3690c87E4572076778a9EDa5',
      'erc4626',
      '0xe343167631d89B6Ffc58B88d6b7fB0228795491D',
    ],
    [
      'stata wstETH (Lido)',
      '0x775F661b0bD1739349b9A2A3EF60be277c5d2D29',
      'erc4626',
      '0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0',
    ],
    [
      'stata WETH (Lido)',
      '0x0FE906e030a44eF24CA8c7dC7B7c53A6C4F00ce9',
      'erc4626',
      '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
    ],
    [
      'stata GHO (Lido)',
      '0xC71Ea051a5F82c67ADcF634c36FFE6334793D24C',
      'erc4626',
      '0x40D16FC0246aD3160Ccc09B8D0D3A2cD28aE6C2f',
    ],
  ],
  // OP Mainnet
  10: [
    [
      'stata DAI',
      '0x61b620FAd391b53A2D0973b10a3Ed69558d5c66E',
      'erc4626',
      '0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1',
    ],
    [
      'stata LINK',
      '0xC438643b0eee8a314eEC53eb8A1Ee6467C88fc24',
      'erc4626',
      '0x350a791Bfc2C21F9Ed5d10980Dad2e2638ffa7f6',
    ],
    [
      'stata USDC',
      '0x0B590eF479c8e03825Ae779839aCb4583aCc15FD',
      'erc4626',
      '0x7F5c764cBc14f9669B88837ca1490cCa17c31607',
    ],
    [
      'stata WBTC',
      '0xEA9020a9e04C557478daD749A1aaD242b443042C',
      'erc4626',
      '0x68f180fcCe6836688e9084f035309E29Bf0A2095',
    ],
    [
      'stata WETH',
      '0x464b808c2C7E04b07e860fDF7a91870620246148',
      'erc4626',
      '0x4200000000000000000000000000000000000006',
    ],
    [
      'stata USDT',
      '0x927CfF131fD5B43FC992D071929b2c095d6E4b70',
      'erc4626',
      '0x94b008aA00579c1307B0EF2c499aD98a8ce58e58',
    ],
    [
      'stata AAVE',
      '0x527604E4D87A7562ec653dbe2878D0DCAB7f1972',
      'erc4626',
      '0x76FB31fb4af56892A25e32cFC43De717950c9278',
    ],
    [
      'stata sUSD',
      '0x0ec63A55a688E5Ba26afe8d9250114505E8b60a0',
      'erc4626',
      '0x8c6f28f2F1A3C87F0f938b96d27520d9751ec8d9',
    ],
    ['stata OP', '0x712Ef4D78f43ecAfa106ea003704a908C99D7f11', 'erc4626', '0x4200000000000000000000000000000000000042'],
    [
      'stata wstETH',
      '0xbaF95bB30CDab3d5b7a11B67EDeF5631bD62be86',
      'erc4626',
      '0x1F32b1c2345538c0c6f582fCB022739c4A194Ebb',
    ],
    [
      'stata LUSD',
      '0x413093E03d6aeE4F2F7e48D4b88881bf4932b249',
      'erc4626',
      '0xc40F949F8a4e094D1b49a23ea9241D289B7b2819',
    ],
    [
      'stata rETH',
      '0x8e6a81b9d541A0CeA090818B62C4B2DE7f2A2Cf7',
      'erc4626',
      '0x9Bcef72be871e61ED4fBbc7630889beE758eb81D',
    ],
    [
      'stata USDCn',
      '0x41B334E9F2C0ED1f30fD7c351874a6071C53a78E',
      'erc4626',
      '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
    ],
  ],
  // Gnosis
  100: [
    ['sDAI', '0xaf204776c7245bF4147c2612BF6e5972Ee483701', 'erc4626', '0xe91D153E0b41518A2Ce8Dd3D7944Fa863463a97d'],
    [
      'stata WETH',
      '0x57f664882F762FA37903FC864e2B633D384B411A',
      'erc4626',
      '0x6A023CCd1ff6F2045C3309768eAd9E68F978f6e1',
    ],
    [
      'stata wstETH',
      '0x773CDA0CADe2A3d86E6D4e30699d40bB95174ff2',
      'erc4626',
      '0x6C76971f98945AE98dD7d4DFcA8711ebea946eA6',
    ],
    [
      'stata GNO',
      '0x7c16F0185A26Db0AE7a9377f23BC18ea7ce5d644',
      'erc4626',
      '0x9C58BAcC331c9aa871AFD802DB6379a98e80CEdb',
    ],
    [
      'stata EURe',
      '0x417bc5b940475203A18C2f320a5ba470D6c5E463',
      'erc4626',
      '0xcB444e90D8198415266c6a2724b7900fb12FC56E',
    ],
    [
      'stata USDCe',
      '0x51350d88c1bd32Cc6A79368c9Fb70373Fb71F375',
      'erc4626',
      '0x2a22f9c3b484c3629090FeED35F17Ff8F88f76F0',
    ],
    [
      'stata GHO',
      '0x58d9AcAC48A4077E4909181c48DEcD00E5ba5DE4',
      'erc4626',
      '0xfc421aD3C883Bf9E7C4f42dE845C4e4405799e73',
    ],
  ],
  // Monad
  143: [
    [
      'stata USDT0',
      '0x5E7109A755fD2b86361F95065cDE07FbAb50CA1D',
      'erc4626',
      '0xe7cd86e13AC4309349F30B3435a9d337750fC82D',
    ],
    [
      'stata USDC',
      '0xC554aFfE2f581F5E0811e0D42D484ECaC5c6B8e2',
      'erc4626',
      '0x754704Bc059F8C67012fEd69BC8A327a5aafb603',
    ],
    [
      'stata mUSD',
      '0x6A7C826974994c4CE012B2fb32FE9D30d6366380',
      'erc4626',
      '0xacA92E438df0B2401fF60dA7E4337B687a2435DA',
    ],
    [
      'stata AUSD',
      '0x9e1AcC5BFbf34e2E579763cE14042d957719fE76',
      'erc4626',
      '0x00000000eFE302BEAA2b3e6e1b18d08D69a9012a',
    ],
    [
      'stata WETH',
      '0x967d427eF0Eb4AEB7a1B523A98B04061F094276B',
      'erc4626',
      '0xEE8c0E9f1BFFb4Eb878d8f15f368A02a35481242',
    ],
    [
      'stata GHO',
      '0x7c9e74e6C6E5DafAf9b44F60bf8eBbe81CA70d4F',
      'erc4626',
      '0xfc421aD3C883Bf9E7C4f42dE845C4e4405799e73',
    ],
  ],
  // Sonic
  146: [
    [
      'stata WETH',
      '0xeB5e9B0ae5bb60274786C747A1A2A798c11271E0',
      'erc4626',
      '0x50c42dEAcD8Fc9773493ED674b675bE577f2634b',
    ],
    [
      'stata USDC',
      '0x6646248971427B80ce531bdD793e2Eb859347E55',
      'erc4626',
      '0x29219dd400f2Bf60E5a23d13Be72B486D4038894',
    ],
    ['stata wS', '0x18B7B8695165290f2767BC63c36D3dFEa4C0F9bB', 'erc4626', '0x039e2fB66102314Ce7b64Ce5Ce3E5183bc94aD38'],
  ],
  // Base
  8453: [
    [
      'stata WETH',
      '0xe298b938631f750DD409fB18227C4a23dCdaab9b',
      'erc4626',
      '0x4200000000000000000000000000000000000006',
    ],
    [
      'stata cbETH',
      '0x5e8B674127B321DC344c078e58BBACc3f3008962',
      'erc4626',
      '0x2Ae3F1Ec7F1F5012CFEab0185bfc7aa3cf0DEc22',
    ],
    [
      'stata USDbC',
      '0x74D4D1D440c9679b1013999Bd91507eAa2fff651',
      'erc4626',
      '0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA',
    ],
    [
      'stata wstETH',
      '0x0830820D1A9aa1554364752d6D8F55C836871B74',
      'erc4626',
      '0xc1CBa3fCea344f92D9239c08C0568f6F2F0ee452',
    ],
    [
      'stata USDC',
      '0xC768c589647798a6EE01A91FdE98EF2ed046DBD6',
      'erc4626',
      '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    ],
    [
      'stata weETH',
      '0x6acD0a165fD70A84b6b50d955ff3628700bAAf4b',
      'erc4626',
      '0x04C0599Ae5A44757c0af6F9eC3b93da8976c150A',
    ],
    [
      'stata cbBTC',
      '0xFA2A03b6f4A65fB1Af64f7d935fDBf78693df9aF',
      'erc4626',
      '0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf',
    ],
    [
      'stata ezETH',
      '0xF8F10f39116716e89498c1c5E94137ADa11b2BC7',
      'erc4626',
      '0x2416092f143378750bb29b79eD961ab195CcEea5',
    ],
    [
      'stata GHO',
      '0x88b1Cd4b430D95b406E382C3cDBaE54697a0286E',
      'erc4626',
      '0x6Bb7a212910682DCFdbd5BCBb3e28FB4E8da10Ee',
    ],
    [
      'stata EURC',
      '0x729F75Aff28c726e32403e80cef2aFb518CFbfa7',
      'erc4626',
      '0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42',
    ],
  ],
  // Plasma
  9745: [
    [
      'stata USDT0',
      '0xE0126F0c4451B2B917064A93040fd4770D6774b5',
      'erc4626',
      '0xB8CE59FC3717ada4C02eaDF9682A9e934F625ebb',
    ],
    [
      'stata USDe',
      '0xC63F1a8c0cD4493E18f6f3371182BE01Ce0BeF02',
      'erc4626',
      '0x5d3a1Ff2b6BAb83b63cd9AD0787074081a52ef34',
    ],
    [
      'stata sUSDe',
      '0xA31C7dDAD8F1D66D037C4EE76F8fb725f927Bc25',
      'erc4626',
      '0x211Cc4DD073734dA055fbF44a2b4667d5E5fE5d2',
    ],
    [
      'stata weETH',
      '0x893dF8f4bBFEbC313Fc52a53E2e23487ACb28181',
      'erc4626',
      '0xA3D68b74bF0528fdD07263c60d6488749044914b',
    ],
    [
      'stata WETH',
      '0xa047fdFb3420A27a5f926735b475fE5a1E968786',
      'erc4626',
      '0x9895D81bB462A195b4922ED7De0e3ACD007c32CB',
    ],
    [
      'stata GHO',
      '0x28C48A7630A730F5f2297dA7A72b7F31d9E99e19',
      'erc4626',
      '0xb77E872A68C62CfC0dFb02C067Ecc3DA23B4bbf3',
    ],
  ],
  // Arbitrum One
  42161: [
    [
      'stata DAI',
      '0xf253BD61aEd0E9D62523eA76CD6F38B4a51dA145',
      'erc4626',
      '0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1',
    ],
    [
      'stata LINK',
      '0xEAB84053B99f2ec4433F5121A1CB1524c8c998F8',
      'erc4626',
      '0xf97f4df75117a78c1A5a0DBb814Af92458539FB4',
    ],
    [
      'stata USDC',
      '0xE6D5923281c89DC989D00817387292387552d5C1',
      'erc4626',
      '0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8',
    ],
    [
      'stata WBTC',
      '0x52Dc1FEeFA4f9a99221F93D79da46Ae89b8c0967',
      'erc4626',
      '0x2f2a2543B76A4166549F7aaB2e75Bef0aefC5B0f',
    ],
    [
      'stata WETH',
      '0x4cE13a79f45C1Be00BdABD38B764aC28C082704E',
      'erc4626',
      '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1',
    ],
    [
      'stata USDT',
      '0xa6D12574eFB239FC1D2099732bd8b5dC6306897F',
      'erc4626',
      '0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9',
    ],
    [
      'stata wstETH',
      '0xe98fc055c99DECD8Da0c111B090885d5d15C774E',
      'erc4626',
      '0x5979D7b546E38E414F7E9822514be443A4800529',
    ],
    [
      'stata rETH',
      '0xbB8A61425DFE172AA3a6f882aAFaBA00B32b7d59',
      'erc4626',
      '0xEC70Dcb4A1EFa46b8F2D97C310C9c4790ba5ffA8',
    ],
    [
      'stata USDCn',
      '0x7F6501d3B98eE91f9b9535E4b0ac710Fb0f9e0bc',
      'erc4626',
      '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
    ],
    [
      'stata ARB',
      '0xf09EDbF2655B2A56753bD60D22CeAB2AC5D04188',
      'erc4626',
      '0x912CE59144191C1204E64559FE8253a0e49E6548',
    ],
    [
      'stata weETH',
      '0xD9E3Ef2c12de90E3b03F7b7E3964956a71920d40',
      'erc4626',
      '0x35751007a407ca6FEFfE80b3cB397736D2cf4dbe',
    ],
    [
      'stata GHO',
      '0xD089B4cb88Dacf4e27be869A00e9f7e2E3C18193',
      'erc4626',
      '0x7dfF72693f6A4149b17e7C6314655f6A9F7c8B33',
    ],
    [
      'stata ezETH',
      '0x4ff50C17df0D1b788d021ACd85039810a1aA68A1',
      'erc4626',
      '0x2416092f143378750bb29b79eD961ab195CcEea5',
    ],
  ],
  // Avalanche
  43114: [
    [
      'stata DAIe',
      '0xC38aD3527A4B821BF437639cBA8Bf567BFa63A13',
      'erc4626',
      '0xd586E7F844cEa2F87f50152665BCbc2C279D8d70',
    ],
    [
      'stata LINKe',
      '0x61933AF56431280EE4e5667133D8aF6322D64B32',
      'erc4626',
      '0x5947BB275c521040051D82396192181b413227A3',
    ],
    [
      'stata USDC',
      '0xe1bFC96d95BAdCB10Ff013Cb0C9C6c737ca07009',
      'erc4626',
      '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E',
    ],
    [
      'stata WETHe',
      '0xdFD2b2437a94108323045C282fF1916de5Ac6Af7',
      'erc4626',
      '0x49D5c2BdFfac6CE2BFdB6640F4F80f226bc10bAB',
    ],
    [
      'stata USDt',
      '0x59933c571d200dc6A7Fd1CDa22495dB442082E34',
      'erc4626',
      '0x9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7',
    ],
    [
      'stata AAVEe',
      '0x7883978D1F322641a3AaA82Bac3b0a6Dee7A171E',
      'erc4626',
      '0x63a72806098Bd3D9520cC43356dD78afe5D386D9',
    ],
    [
      'stata WAVAX',
      '0xD7da0De6Ef4f51d6206bF2A35fCd2030F54c3F7B',
      'erc4626',
      '0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7',
    ],
    [
      'stata sAVAX',
      '0x7D0394F8898fBA73836Bf12bD606228887705895',
      'erc4626',
      '0x2b2C81e08f1Af8835a78Bb2A90AE924ACE0eA4bE',
    ],
    [
      'stata FRAX',
      '0x3929336Afd0BBa6FCAbB67dFB78610379C66B43B',
      'erc4626',
      '0xD24C2Ad096400B6FBcd2ad8B24E7acBc21A1da64',
    ],
    [
      'stata BTCb',
      '0x2d324fD1Ca86D90f61B0965d2db2f86d22eA4B74',
      'erc4626',
      '0x152b9d0FdC40C096757F570A51E494bd4b943E50',
    ],
    [
      'stata AUSD',
      '0x45cf39EeB437FA95Bb9b52c0105254a6BD25D01e',
      'erc4626',
      '0x00000000eFE302BEAA2b3e6e1b18d08D69a9012a',
    ],
    [
      'stata GHO',
      '0x79459f4C9AfC902488109D058C3E76ed0B037c41',
      'erc4626',
      '0xfc421aD3C883Bf9E7C4f42dE845C4e4405799e73',
    ],
  ],
}

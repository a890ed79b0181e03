import type { Address } from 'viem'
import { byChain } from '../../chain/chain.ts'

/** Morpho Blue on one chain: one contract with all its markets. */
export interface MorphoBlueDeployment {
  readonly morpho: Address
  /** First block with events of the contract. */
  readonly startBlock: number
}

/**
 * Morpho's own deployments by chain id; `startBlock` is the block that created the contract. Source:
 * `@morpho-org/morpho-ts` 2.8.0, checked by `test/unit/family/morpho_blue/deployments_test.ts`.
 */
export const MORPHO_BLUE_DEPLOYMENTS: ReadonlyMap<number, MorphoBlueDeployment> = byChain({
  1: { morpho: '0xBBBBBbbBBb9cC5e90e3b3Af64bdAF62C37EEFFCb', startBlock: 18_883_124 },
  10: { morpho: '0xce95AfbB8EA029495c66020883F87aaE8864AF92', startBlock: 130_770_075 },
  14: { morpho: '0xF4346F5132e810f80a28487a79c7559d9797E8B0', startBlock: 52_378_788 },
  25: { morpho: '0xDF9a1DC07e5dEe5ccCCaBeC35e446C70fAF7434e', startBlock: 38_459_435 },
  50: { morpho: '0xEa49B0fE898aF913A3826F9f462eE2cDcb854fD9', startBlock: 101_757_515 },
  56: { morpho: '0x01b0Bd309AA75547f7a37Ad7B1219A898E67a83a', startBlock: 54_344_680 },
  130: { morpho: '0x8f5ae9CddB9f68de460C77730b018Ae7E04a140A', startBlock: 9_139_027 },
  137: { morpho: '0x1bF0c2541F820E775182832f06c0B7Fc27A25f67', startBlock: 66_931_042 },
  143: { morpho: '0xD5D960E8C380B724a48AC59E2DfF1b2CB4a1eAee', startBlock: 31_907_457 },
  146: { morpho: '0xd6c916eB7542D0Ad3f18AEd0FCBD50C582cfa95f', startBlock: 9_100_931 },
  239: { morpho: '0x918B9F2E4B44E20c6423105BB6cCEB71473aD35c', startBlock: 853_025 },
  252: { morpho: '0xa6030627d724bA78a59aCf43Be7550b4C5a0653b', startBlock: 15_317_931 },
  480: { morpho: '0xE741BC7c34758b4caE05062794E8Ae24978AF432', startBlock: 9_025_669 },
  714: { morpho: '0xF050a2BB0468FF23cF2964AC182196C94D6815C3', startBlock: 53_363_569 },
  988: { morpho: '0xa40103088A899514E3fe474cD3cc5bf811b1102e', startBlock: 1_504_506 },
  999: { morpho: '0x68e37dE8d93d3496ae143F2E900490f6280C57cD', startBlock: 1_988_429 },
  1135: { morpho: '0x00cD58DEEbd7A2F1C55dAec715faF8aed5b27BF8', startBlock: 15_731_231 },
  1329: { morpho: '0xc9cDAc20FCeAAF616f7EB0bb6Cd2c69dcfa9094c', startBlock: 166_036_723 },
  1672: { morpho: '0x18573fA18fd17dDfD790B4a5B5b2977aad3b4Efb', startBlock: 4_202_147 },
  1868: { morpho: '0xE75Fc5eA6e74B824954349Ca351eb4e671ADA53a', startBlock: 6_440_817 },
  2818: { morpho: '0xAd10d07901Dc3195c3cb5e78E061F4EA8D9B4905', startBlock: 23_180_020 },
  4217: { morpho: '0x10EE9AAC980A180dd4DcFc96C746d60B0EA88f97', startBlock: 2_375_189 },
  4326: { morpho: '0x18120312A7cf44DcfEc6dCe5632a431579ED9100', startBlock: 16_408_957 },
  4663: { morpho: '0x9D53d5E3bd5E8d4Cbfa6DB1ca238AEA02E651010', startBlock: 286 },
  5042: { morpho: '0x34CD04070dD72b14E241112F6d83812Df5Af7fCD', startBlock: 1_208_685 },
  8217: { morpho: '0xA8BEebdca34d83C697c302A0594f3c41f3994cd2', startBlock: 208_021_118 },
  8453: { morpho: '0xBBBBBbbBBb9cC5e90e3b3Af64bdAF62C37EEFFCb', startBlock: 13_977_148 },
  16661: { morpho: '0x9CDD13a2212D94C4f12190cA30783B743E83C89e', startBlock: 7_526_486 },
  34443: { morpho: '0xd85cE6BD68487E0AaFb0858FDE1Cd18c76840564', startBlock: 19_983_370 },
  42161: { morpho: '0x6c247b1F6182318877311737BaC0844bAa518F5e', startBlock: 296_446_593 },
  42220: { morpho: '0xd24ECdD8C1e0E57a4E26B1a7bbeAa3e95466A569', startBlock: 40_249_329 },
  42793: { morpho: '0xbCE7364E63C3B13C73E9977a83c9704E2aCa876e', startBlock: 21_047_448 },
  43111: { morpho: '0xa4Ca2c2e25b97DA19879201bA49422bc6f181f42', startBlock: 1_188_872 },
  57073: { morpho: '0x857f3EefE8cbda3Bc49367C996cd664A880d3042', startBlock: 4_078_776 },
  59144: { morpho: '0x6B0D716aC0A45536172308e08fC2C40387262c9F', startBlock: 25_072_608 },
  98866: { morpho: '0x42b18785CE0Aed7BF7Ca43a39471ED4C0A3e0bB5', startBlock: 765_994 },
  200901: { morpho: '0xAeA7eFF1bD3c875c18ef50F0387892dF181431C6', startBlock: 13_516_997 },
  534352: { morpho: '0x2d012EdbAdc37eDc2BC62791B666f9193FDF5a55', startBlock: 12_842_868 },
  685689: { morpho: '0x8c45B34999883FF4B47cD3be095D585682cd9227', startBlock: 7_520_470 },
  747474: { morpho: '0xD50F2DffFd62f94Ee4AEd9ca05C61d0753268aBc', startBlock: 2_741_069 },
  21000000: { morpho: '0xc2B1E031540e3F3271C5F3819F0cC7479a8DdD90', startBlock: 251_401 },
})

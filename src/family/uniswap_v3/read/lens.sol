// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {CustodiedPositions} from '../../liquidity/enumerable/custodied.sol';
import {PriceSources} from '../../../finance/price/prices.sol';

interface IFactory {
    function getPool(address, address, uint24) external view returns (address);
}

/// A manager enumerates with the first two functions too.
interface IMasterChef {
    function balanceOf(address) external view returns (uint256);
    function tokenOfOwnerByIndex(address, uint256) external view returns (uint256);
    function userPositionInfos(uint256) external view;
    function CAKE() external view returns (address);
    function emergency() external view returns (bool);
    function getLatestPeriodInfo(address) external view;
}

interface IFarmedPool {
    function lmPool() external view returns (address);
}

interface ILmPool {
    function rewardGrowthGlobalX128() external view returns (uint256);
    function lmLiquidity() external view returns (uint128);
    function lastRewardTimestamp() external view returns (uint32);
    function lmTicks(int24) external view;
}

/// Reads positions of Uniswap V3 and its forks, whose pools are named by their fee, and those that PancakeSwap's MasterChef
/// holds for wallets. `EnumerablePositions` describes the answer.
contract Lens is CustodiedPositions {
    /// Words of `userPositionInfos`.
    uint256 private constant BOOST_LIQUIDITY = 32;
    uint256 private constant BASELINE = 128;
    uint256 private constant OWED = 160;
    uint256 private constant USER = 192;
    uint256 private constant INFO_SIZE = 288;

    function poolSelector() internal pure override returns (bytes4) {
        return IFactory.getPool.selector;
    }

    function heldCount() internal pure override returns (bytes4) {
        return IMasterChef.balanceOf.selector;
    }

    function heldItem() internal pure override returns (bytes4) {
        return IMasterChef.tokenOfOwnerByIndex.selector;
    }

    function creditedTo(
        Page memory page,
        address masterChef,
        uint256 id,
        address
    ) internal view override returns (address) {
        if (!ask1(page, masterChef, IMasterChef.userPositionInfos.selector, id, INFO_SIZE)) return address(0);
        return address(uint160(word(page.answer + USER)));
    }

    /// Words: now, growth, liquidity that shares it, since when it did not grow, rate a second times 1e12, end of the rate,
    /// growth outside both ticks, liquidity, baseline, owed, what the MasterChef has to pay with. The liquidity is 0 where
    /// it pays what it owes alone: without a pool of rewards, and in an emergency.
    function rewards(
        Page memory page,
        Seen memory seen,
        PriceSources calldata prices,
        address masterChef,
        address pool,
        uint256 id
    ) internal view override returns (bool ok) {
        uint256 info = page.answer;
        if (!ask1(page, masterChef, IMasterChef.userPositionInfos.selector, id, INFO_SIZE)) return false;
        // It pays nothing for what was sent to it by a plain transfer.
        if (word(info + USER) == 0) return true;
        uint256 at = info + INFO_SIZE;
        page.answer = at;
        ok = ask(page, masterChef, IMasterChef.CAKE.selector, 32);
        address cake = address(uint160(word(at)));
        ok = ok && ask1(page, cake, IMasterChef.balanceOf.selector, uint160(masterChef), 32);
        uint256 funds = word(at);
        ok = ok && ask(page, masterChef, IMasterChef.emergency.selector, 32);
        bool isEmergency = word(at) != 0;
        ok = ok && ask(page, pool, IFarmedPool.lmPool.selector, 32);
        address lmPool = isEmergency ? address(0) : address(uint160(word(at)));
        for (uint256 i = 0; i < 7; i++) {
            set(at + i * 32, 0);
        }
        if (lmPool == address(0)) set(info + BOOST_LIQUIDITY, 0);
        else ok = ok && readGrowth(page, seen.state, masterChef, pool, lmPool);
        if (ok) {
            page.answer = at + 224;
            putReward(page, tokenOf(page, seen.numbers, prices, cake), 12);
            put(page, block.timestamp, 32);
            for (uint256 i = 0; i < 7; i++) {
                put(page, word(at + i * 32), 32);
            }
            put(page, word(info + BOOST_LIQUIDITY), 32);
            put(page, word(info + BASELINE), 32);
            put(page, word(info + OWED), 32);
            put(page, funds, 32);
        }
        page.answer = info;
    }

    /// Reads the seven words that the growth of a pool's rewards in a range follows from into the answer.
    function readGrowth(
        Page memory page,
        uint256 state,
        address masterChef,
        address pool,
        address lmPool
    ) private view returns (bool ok) {
        uint256 at = page.answer;
        ok = ask(page, lmPool, ILmPool.rewardGrowthGlobalX128.selector, 32);
        page.answer = at + 32;
        ok = ok && ask(page, lmPool, ILmPool.lmLiquidity.selector, 32);
        page.answer = at + 64;
        ok = ok && ask(page, lmPool, ILmPool.lastRewardTimestamp.selector, 32);
        page.answer = at + 96;
        ok = ok && ask1(page, masterChef, IMasterChef.getLatestPeriodInfo.selector, uint160(pool), 64);
        page.answer = at + 160;
        ok = ok && ask1(page, lmPool, ILmPool.lmTicks.selector, word(state + 160), 96);
        set(page.answer, word(page.answer + 64));
        page.answer = at + 192;
        ok = ok && ask1(page, lmPool, ILmPool.lmTicks.selector, word(state + 192), 96);
        set(page.answer, word(page.answer + 64));
        page.answer = at;
    }
}

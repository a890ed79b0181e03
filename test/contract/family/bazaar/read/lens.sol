// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {CustodiedPositions} from '../../../../../src/family/liquidity/enumerable/custodied.sol';
import {PriceSources} from '../../../../../src/finance/price/prices.sol';

interface IFactory {
    function getPool(address, address, uint24) external view returns (address);
}

interface IPool {
    function slot0() external view;
}

interface IStall {
    function keptCount(address) external view returns (uint256);
    function keptAt(address, uint256) external view returns (uint256);
    function keeperOf(uint256) external view returns (address);
    function reward() external view returns (address);
    function rewardOf(uint256) external view;
}

/// Reads positions of the bazaar, those among them that its stalls keep.
contract Lens is CustodiedPositions {
    function poolSelector() internal pure override returns (bytes4) {
        return IFactory.getPool.selector;
    }

    function heldCount() internal pure override returns (bytes4) {
        return IStall.keptCount.selector;
    }

    function heldItem() internal pure override returns (bytes4) {
        return IStall.keptAt.selector;
    }

    function creditedTo(Page memory page, address stall, uint256 id, address) internal view override returns (address) {
        return ask1(page, stall, IStall.keeperOf.selector, id, 32) ? address(uint160(word(page.answer))) : address(0);
    }

    /// One word: what of the fee the pool keeps for itself.
    function extra(Page memory page, address pool) internal view override {
        if (!ask(page, pool, IPool.slot0.selector, 192)) return;
        putWords(page, 1);
        put(page, word(page.answer + 160), 32);
    }

    /// Words: now, rate, since when it is not paid, penalty, end of the penalty.
    function rewards(
        Page memory page,
        Seen memory seen,
        PriceSources calldata prices,
        address stall,
        address,
        uint256 id
    ) internal view override returns (bool ok) {
        uint256 answer = page.answer;
        if (!ask1(page, stall, IStall.rewardOf.selector, id, 128)) return false;
        // It keeps nothing that was sent by a plain transfer.
        if (word(answer + 32) == 0) return true;
        page.answer = answer + 128;
        ok = ask(page, stall, IStall.reward.selector, 32);
        if (ok) {
            putReward(page, tokenOf(page, seen.numbers, prices, address(uint160(word(page.answer)))), 5);
            put(page, block.timestamp, 32);
            for (uint256 i = 0; i < 4; i++) {
                put(page, word(answer + i * 32), 32);
            }
        }
        page.answer = answer;
    }
}

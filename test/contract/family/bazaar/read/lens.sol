// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {CustodiedPositions} from '../../../../../src/family/liquidity/enumerable/custodied.sol';

interface IFactory {
    function getPool(address, address, uint24) external view returns (address);
}

interface IStall {
    function keptCount(address) external view returns (uint256);
    function keptAt(address, uint256) external view returns (uint256);
    function keeperOf(uint256) external view returns (address);
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
}

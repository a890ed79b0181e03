// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {EnumerablePositions} from '../../../../../src/family/liquidity/enumerable/positions.sol';

interface IFactory {
    function getPool(address, address, uint24) external view returns (address);
}

/// Reads positions of the bazaar.
contract Lens is EnumerablePositions {
    function poolSelector() internal pure override returns (bytes4) {
        return IFactory.getPool.selector;
    }
}

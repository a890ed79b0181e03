// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {EnumerablePositions} from '../../liquidity/enumerable/positions.sol';

interface IFactory {
    function getPool(address, address, uint24) external view returns (address);
}

/// Reads positions of Uniswap V3 and its forks, whose pools are named by their fee. `EnumerablePositions` describes the
/// answer.
contract Lens is EnumerablePositions {
    function poolSelector() internal pure override returns (bytes4) {
        return IFactory.getPool.selector;
    }
}

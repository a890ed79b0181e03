// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

/// What PancakeSwap's factory makes pools with: it tells each pool its parameters while that is constructed.
contract PoolDeployer {
    struct Parameters {
        address factory;
        address token0;
        address token1;
        uint24 fee;
        int24 tickSpacing;
    }

    Parameters public parameters;
    /// Its code is the creation code of a pool.
    address private immutable _creationCode;

    constructor(address creationCode) {
        _creationCode = creationCode;
    }

    function deploy(
        address factory,
        address token0,
        address token1,
        uint24 fee,
        int24 tickSpacing
    ) external returns (address) {
        return create(Parameters(factory, token0, token1, fee, tickSpacing), keccak256(abi.encode(token0, token1, fee)));
    }

    function create(Parameters memory told, bytes32 salt) internal returns (address pool) {
        parameters = told;
        bytes memory code = _creationCode.code;
        assembly ("memory-safe") {
            pool := create2(0, add(code, 32), mload(code), salt)
        }
        require(pool != address(0), 'no pool');
        delete parameters;
    }
}

/// Runs another contract's code as its own.
abstract contract Front {
    address private immutable _target;

    constructor(address target) {
        _target = target;
    }

    function run(bytes memory input) internal returns (bytes memory) {
        (bool ok, bytes memory answer) = _target.delegatecall(input);
        if (ok) return answer;
        assembly ("memory-safe") {
            revert(add(answer, 32), mload(answer))
        }
    }
}

/// Hands calls of one name on under another: PancakeSwap's pools call back `pancakeV3MintCallback` where Uniswap's call
/// `uniswapV3MintCallback`, with the same arguments.
contract Renamed is Front {
    bytes4 private immutable _from;
    bytes4 private immutable _to;

    constructor(address target, bytes4 from, bytes4 to) Front(target) {
        _from = from;
        _to = to;
    }

    fallback(bytes calldata input) external payable returns (bytes memory) {
        return run(msg.sig == _from ? bytes.concat(_to, input[4:]) : input);
    }
}
